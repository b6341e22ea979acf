#include "eval/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

using Json = nlohmann::json;

constexpr base::JsonLimits kLimits{.max_bytes = kMaxDataBytes, .max_depth = 16};

std::string in_entry(std::string_view where, std::string_view name) {
    return std::string(where) + (where.empty() ? "" : ", ") + "entry " + std::string(name);
}

}  // namespace

Status Record::error(std::string_view what) const {
    return {Code::Corrupt, where_ + ": " + std::string(what)};
}

bool Record::is_object() const {
    return json_->is_object();
}

bool Record::is_list() const {
    return json_->is_array();
}

const Json* Record::find(std::string_view key) const {
    if (!json_->is_object()) return nullptr;
    const auto found = json_->find(key);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
}

Result<const Json*> Record::need(std::string_view key) const {
    const Json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    return value;
}

bool Record::has_text(std::string_view key) const {
    const Json* const value = find(key);
    return value != nullptr && value->is_string();
}

Result<std::string> Record::text(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    if (!value->is_string()) return error("\"" + std::string(key) + "\" is not a string");
    return value->get<std::string>();
}

Result<std::string> Record::text_or_empty(std::string_view key) const {
    if (!has(key)) return std::string();
    return text(key);
}

std::optional<std::string> Record::as_id() const {
    if (json_->is_string()) return json_->get<std::string>();
    if (json_->is_number_unsigned()) return std::to_string(json_->get<std::uint64_t>());
    if (json_->is_number_integer()) return std::to_string(json_->get<std::int64_t>());
    return std::nullopt;
}

std::optional<std::string> Record::as_text() const {
    if (json_->is_string()) return json_->get<std::string>();
    return std::nullopt;
}

Result<std::string> Record::id(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    auto id = Record(*value, {}).as_id();
    if (!id || id->empty()) {
        return error("\"" + std::string(key) +
                     "\" is neither a whole number nor a string with something in it");
    }
    return *std::move(id);
}

Result<std::string> Record::id_of(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) {
        if (has(key)) return id(key);
    }
    return id(*keys.begin());
}

Result<long long> Record::integer(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    if (!value->is_number_integer()) return error("\"" + std::string(key) + "\" is not a whole number");
    return value->get<long long>();
}

Result<double> Record::number(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    if (!value->is_number()) return error("\"" + std::string(key) + "\" is not a number");
    return value->get<double>();
}

Result<bool> Record::boolean(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    if (!value->is_boolean()) return error("\"" + std::string(key) + "\" is neither true nor false");
    return value->get<bool>();
}

Result<std::vector<std::string>> Record::texts(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    const bool is_list_of_texts =
        value->is_array() &&
        std::all_of(value->begin(), value->end(), [](const Json& e) { return e.is_string(); });
    if (!is_list_of_texts) return error("\"" + std::string(key) + "\" is not a list of strings");
    return value->get<std::vector<std::string>>();
}

Result<std::vector<double>> Record::numbers(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    const bool is_list_of_numbers =
        value->is_array() &&
        std::all_of(value->begin(), value->end(), [](const Json& e) { return e.is_number(); });
    if (!is_list_of_numbers) return error("\"" + std::string(key) + "\" is not a list of numbers");
    return value->get<std::vector<double>>();
}

Result<Record> Record::object(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    if (!value->is_object()) return error("\"" + std::string(key) + "\" is not an object");
    return Record(*value, where_ + ", \"" + std::string(key) + "\"");
}

Result<std::vector<Record>> Record::list(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    if (!value->is_array()) return error("\"" + std::string(key) + "\" is not a list");
    return Record(*value, where_ + ", \"" + std::string(key) + "\"").elements();
}

Result<std::vector<Record>> Record::elements() const {
    if (!json_->is_array()) return error("not a list");
    std::vector<Record> records;
    records.reserve(json_->size());
    for (std::size_t i = 0; i < json_->size(); ++i) {
        records.emplace_back((*json_)[i], in_entry(where_, std::to_string(i)));
    }
    return records;
}

Result<std::vector<Record>> Record::objects() const {
    CLASP_ASSIGN_OR_RETURN(std::vector<Record> records, elements());
    for (const Record& record : records) {
        if (!record.is_object()) return record.error("not a JSON object");
    }
    return records;
}

Result<std::vector<std::pair<std::string, Record>>> Record::entries() const {
    if (!json_->is_object()) return error("not a JSON object");
    std::vector<std::pair<std::string, Record>> entries;
    entries.reserve(json_->size());
    for (const auto& [key, value] : json_->items()) {
        entries.emplace_back(key, Record(value, in_entry(where_, base::in_quotes(key))));
    }
    return entries;
}

JsonDocument::JsonDocument(Json json, std::string name)
    : json_(std::make_shared<const Json>(std::move(json))), name_(std::move(name)) {}

Record JsonDocument::root() const {
    return {*json_, name_};
}

Result<JsonDocument> parse_document(std::string_view text, std::string name) {
    auto parsed = base::parse_json(text, kLimits);
    if (!parsed) return parsed.status().with_context(name);
    return JsonDocument(std::move(parsed).value(), std::move(name));
}

Result<JsonDocument> read_document(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    return parse_document(text, path);
}

Status each_json_line(std::string_view text, const std::function<Status(const Record&)>& take) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte-order mark
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string where = "line " + std::to_string(number);
        const auto parsed = base::parse_json(line, kLimits);
        if (!parsed) return parsed.status().with_context(where);
        const Record record(*parsed, where);
        if (!record.is_object()) return record.error("not a JSON object");
        CLASP_RETURN_IF_ERROR(take(record));
    }
    return ok_status();
}

Status each_file_line(const std::string& path, const std::function<Status(const Record&)>& take) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    return each_json_line(text, take).with_context(path);
}

Result<std::string> read_data_file(const std::string& path) {
    return base::read_file(path, kMaxDataBytes);
}

}  // namespace clasp::eval
