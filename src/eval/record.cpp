#include "eval/record.h"

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace clasp::eval {

namespace {

using nlohmann::json;

constexpr base::JsonLimits kLimits{.max_bytes = kMaxDataBytes, .max_depth = 16};

}  // namespace

Status Record::error(std::string_view what) const {
    return {Code::Corrupt, where_ + ": " + std::string(what)};
}

const json* Record::find(std::string_view key) const {
    if (!json_->is_object()) return nullptr;
    const auto found = json_->find(key);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> Record::text(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    if (!value->is_string()) return error("\"" + std::string(key) + "\" is not a string");
    return value->get<std::string>();
}

Result<std::string> Record::text_or_empty(std::string_view key) const {
    if (!has(key)) return std::string();
    return text(key);
}

std::optional<std::string> as_id(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
    if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
    return std::nullopt;
}

Result<std::string> Record::id(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    auto id = as_id(*value);
    if (!id || id->empty()) {
        return error("\"" + std::string(key) +
                     "\" is neither a whole number nor a string that names something");
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
    const json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    if (!value->is_number_integer()) return error("\"" + std::string(key) + "\" is not a whole number");
    return value->get<long long>();
}

Result<std::vector<std::string>> Record::texts(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    if (!value->is_array()) return error("\"" + std::string(key) + "\" is not a list of strings");
    std::vector<std::string> texts;
    texts.reserve(value->size());
    for (const json& element : *value) {
        if (!element.is_string()) return error("\"" + std::string(key) + "\" is not a list of strings");
        texts.push_back(element.get<std::string>());
    }
    return texts;
}

Result<Record> Record::object(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    if (!value->is_object()) return error("\"" + std::string(key) + "\" is not an object");
    return Record(*value, where_ + ", \"" + std::string(key) + "\"");
}

Result<std::vector<Record>> Record::list(std::string_view key) const {
    const json* const value = find(key);
    if (value == nullptr) return error("has no \"" + std::string(key) + "\"");
    if (!value->is_array()) return error("\"" + std::string(key) + "\" is not a list");
    std::vector<Record> records;
    records.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i) {
        records.emplace_back((*value)[i],
                             where_ + ", \"" + std::string(key) + "\" entry " + std::to_string(i));
    }
    return records;
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
        if (!parsed->is_object()) return record.error("not a JSON object");
        CLASP_RETURN_IF_ERROR(take(record));
    }
    return ok_status();
}

Status each_list_entry(const json& list, const std::function<Status(const Record&)>& take) {
    if (!list.is_array()) return {Code::Corrupt, "not a JSON list"};
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Record record(list[i], "entry " + std::to_string(i));
        if (!list[i].is_object()) return record.error("not a JSON object");
        CLASP_RETURN_IF_ERROR(take(record));
    }
    return ok_status();
}

Result<json> read_json_file(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    auto parsed = base::parse_json(text, kLimits);
    if (!parsed) return parsed.status().with_context(path);
    return parsed;
}

Result<std::string> read_data_file(const std::string& path) {
    return base::read_file(path, kMaxDataBytes);
}

}  // namespace clasp::eval
