// JSON objects of data files, read field by field. Every error names the file, the place and the field.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "clasp/status.h"

namespace clasp::eval {

// Largest data file: VQAv2's training annotations have 0.4 GB, MMBench's files carry their pictures.
inline constexpr std::size_t kMaxDataBytes = std::size_t{4} << 30U;

class Record {
   public:
    // Borrows `json`; `where` begins every message: "line 7" or "entry 'v1_0'".
    Record(const base::Json& json, std::string where) : json_(&json), where_(std::move(where)) {}

    [[nodiscard]] Status error(std::string_view what) const;
    [[nodiscard]] bool is_object() const;
    [[nodiscard]] bool is_list() const;

    // Null and absent are the same.
    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    [[nodiscard]] bool has_text(std::string_view key) const;
    [[nodiscard]] Result<std::string> text(std::string_view key) const;
    // Empty when the field is not there; an error when it is there and no string.
    [[nodiscard]] Result<std::string> text_or_empty(std::string_view key) const;
    // A string or a whole number, as text; never empty.
    [[nodiscard]] Result<std::string> id(std::string_view key) const;
    // The first of these fields that is there.
    [[nodiscard]] Result<std::string> id_of(std::initializer_list<std::string_view> keys) const;
    [[nodiscard]] Result<long long> integer(std::string_view key) const;
    [[nodiscard]] Result<double> number(std::string_view key) const;
    [[nodiscard]] Result<bool> boolean(std::string_view key) const;
    [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view key) const;
    // A list of numbers.
    [[nodiscard]] Result<std::vector<double>> numbers(std::string_view key) const;
    [[nodiscard]] Result<Record> object(std::string_view key) const;
    // The elements of a list field.
    [[nodiscard]] Result<std::vector<Record>> list(std::string_view key) const;

    // This value as a list of objects; as an object of values with their keys; as a string or whole number.
    [[nodiscard]] Result<std::vector<Record>> objects() const;
    [[nodiscard]] Result<std::vector<std::pair<std::string, Record>>> entries() const;
    [[nodiscard]] Result<std::vector<Record>> elements() const;
    [[nodiscard]] std::optional<std::string> as_id() const;
    [[nodiscard]] std::optional<std::string> as_text() const;

   private:
    [[nodiscard]] const base::Json* find(std::string_view key) const;
    [[nodiscard]] Result<const base::Json*> need(std::string_view key) const;

    const base::Json* json_;
    std::string where_;
};

// A parsed file; records borrow from it.
class JsonDocument {
   public:
    explicit JsonDocument(base::Json json, std::string name);
    [[nodiscard]] Record root() const;

   private:
    std::shared_ptr<const base::Json> json_;
    std::string name_;
};

// `name` begins every message about the content.
Result<JsonDocument> parse_document(std::string_view text, std::string name);
Result<JsonDocument> read_document(const std::string& path);

// Calls `take` for each line that is not blank. Corrupt names the line that is not a JSON object.
Status each_json_line(std::string_view text, const std::function<Status(const Record&)>& take);
Status each_file_line(const std::string& path, const std::function<Status(const Record&)>& take);

// A whole data file as text.
Result<std::string> read_data_file(const std::string& path);

}  // namespace clasp::eval
