// JSON objects of data files, read field by field. Every error names the file, the place and the field.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::eval {

// Largest data file: VQAv2's training annotations have 0.4 GB, MMBench's files carry their pictures.
inline constexpr std::size_t kMaxDataBytes = std::size_t{4} << 30U;

class Record {
   public:
    // Borrows `json`; `where` begins every message: "line 7" or "entry \"v1_0\"".
    Record(const nlohmann::json& json, std::string where) : json_(&json), where_(std::move(where)) {}

    [[nodiscard]] const std::string& where() const { return where_; }
    [[nodiscard]] const nlohmann::json& raw() const { return *json_; }
    [[nodiscard]] Status error(std::string_view what) const;

    // Null and absent are the same.
    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    [[nodiscard]] Result<std::string> text(std::string_view key) const;
    // Empty when the field is not there; an error when it is there and no string.
    [[nodiscard]] Result<std::string> text_or_empty(std::string_view key) const;
    // A string or a whole number, as text.
    [[nodiscard]] Result<std::string> id(std::string_view key) const;
    // The first of these fields that is there.
    [[nodiscard]] Result<std::string> id_of(std::initializer_list<std::string_view> keys) const;
    [[nodiscard]] Result<long long> integer(std::string_view key) const;
    [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view key) const;
    [[nodiscard]] Result<Record> object(std::string_view key) const;
    // The elements of a list field.
    [[nodiscard]] Result<std::vector<Record>> list(std::string_view key) const;

   private:
    [[nodiscard]] const nlohmann::json* find(std::string_view key) const;

    const nlohmann::json* json_;
    std::string where_;
};

// A whole number or string of JSON as an id; nothing for other kinds.
std::optional<std::string> as_id(const nlohmann::json& value);

// Calls `take` for each line that is not blank. Corrupt names the line that is not a JSON object.
Status each_json_line(std::string_view text, const std::function<Status(const Record&)>& take);

// Calls `take` for each object of a JSON list.
Status each_list_entry(const nlohmann::json& list, const std::function<Status(const Record&)>& take);

// A whole data file as JSON; messages begin with its path.
Result<nlohmann::json> read_json_file(const std::string& path);

// A whole data file as text.
Result<std::string> read_data_file(const std::string& path);

}  // namespace clasp::eval
