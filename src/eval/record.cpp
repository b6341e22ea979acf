#include "eval/record.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

using base::Json;

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
    const Json* const found = json_->find(key);
    return found == nullptr || found->is_null() ? nullptr : found;
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
    const std::string* const text = value->as_string();
    if (text == nullptr) return error("\"" + std::string(key) + "\" is not a string");
    return *text;
}

Result<std::string> Record::text_or_empty(std::string_view key) const {
    if (!has(key)) return std::string();
    return text(key);
}

std::optional<std::string> Record::as_id() const {
    if (json_->is_number_integer()) return base::dump_json(*json_);
    return as_text();
}

std::optional<std::string> Record::as_text() const {
    return json_->get<std::string>();
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
    const auto number = value->get<long long>();
    if (!number) return error("\"" + std::string(key) + "\" is too large a number");
    return *number;
}

Result<double> Record::number(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    const auto number = value->get<double>();
    if (!number) return error("\"" + std::string(key) + "\" is not a number");
    return *number;
}

Result<bool> Record::boolean(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    const auto truth = value->get<bool>();
    if (!truth) return error("\"" + std::string(key) + "\" is neither true nor false");
    return *truth;
}

Result<std::vector<std::string>> Record::texts(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    std::vector<std::string> texts;
    if (!value->get_to(texts)) return error("\"" + std::string(key) + "\" is not a list of strings");
    return texts;
}

Result<std::vector<double>> Record::numbers(std::string_view key) const {
    CLASP_ASSIGN_OR_RETURN(const Json* const value, need(key));
    std::vector<double> numbers;
    if (!value->get_to(numbers)) return error("\"" + std::string(key) + "\" is not a list of numbers");
    return numbers;
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
