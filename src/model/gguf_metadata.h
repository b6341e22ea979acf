// Typed access to the keys of a GGUF file. Converters disagree about integer widths, so any integer type
// is accepted and the value is checked against the range that the caller can work with; nothing is
// clamped. A missing key is NotFound, a value of the wrong kind or out of range is Corrupt; both messages
// name the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "model/gguf_reader.h"

namespace clasp::model {

Result<std::int64_t> read_integer(const GgufReader& reader, std::string_view key, std::int64_t min,
                                  std::int64_t max);
// Finite and within [min, max].
Result<float> read_float(const GgufReader& reader, std::string_view key, float min, float max);
Result<bool> read_flag(const GgufReader& reader, std::string_view key);
Result<std::string_view> read_string(const GgufReader& reader, std::string_view key);
Result<std::vector<std::int64_t>> read_integers(const GgufReader& reader, std::string_view key,
                                                std::size_t max_count, std::int64_t min, std::int64_t max);
Result<std::vector<float>> read_floats(const GgufReader& reader, std::string_view key, std::size_t count,
                                       float min, float max);
// Exactly count of them, as bools or as integers 0 and 1.
Result<std::vector<bool>> read_flags(const GgufReader& reader, std::string_view key, std::size_t count);
// The elements of an array of strings; a view each.
Result<std::vector<std::string_view>> read_strings(const GgufReader& reader, std::string_view key,
                                                   std::size_t max_count);

// The same with a value for "the key is not there"; a bad value is still an error.
template <typename T>
Result<T> value_or(Result<T> result, T fallback) {
    if (!result.ok() && result.status().code() == Code::NotFound) return fallback;
    return result;
}

}  // namespace clasp::model
