#include "model/gguf_metadata.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace clasp::model {

namespace {

Status missing(std::string_view key) {
    return {Code::NotFound, "key " + std::string(key) + " is missing"};
}

Status wrong_type(const GgufEntry& entry, std::string_view wanted) {
    return {Code::Corrupt, "key " + std::string(entry.key) + " is " +
                               (entry.is_array ? "an array of " : "of type ") +
                               std::string(gguf_type_name(entry.element)) + ", not " + std::string(wanted)};
}

template <typename T>
T element(const GgufEntry& entry, std::size_t index) {
    T value;
    std::memcpy(&value, entry.data.data() + index * sizeof(T), sizeof(T));
    return value;
}

// Nullopt when the element is no integer; a u64 beyond int64 counts as out of range, so it saturates.
std::optional<std::int64_t> integer_at(const GgufEntry& entry, std::size_t index) {
    switch (entry.element) {
        case GgufType::U8: return element<std::uint8_t>(entry, index);
        case GgufType::I8: return element<std::int8_t>(entry, index);
        case GgufType::U16: return element<std::uint16_t>(entry, index);
        case GgufType::I16: return element<std::int16_t>(entry, index);
        case GgufType::U32: return element<std::uint32_t>(entry, index);
        case GgufType::I32: return element<std::int32_t>(entry, index);
        case GgufType::I64: return element<std::int64_t>(entry, index);
        case GgufType::U64: {
            const auto value = element<std::uint64_t>(entry, index);
            constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
            return value > static_cast<std::uint64_t>(kMax) ? kMax : static_cast<std::int64_t>(value);
        }
        default: return std::nullopt;
    }
}

std::optional<double> float_at(const GgufEntry& entry, std::size_t index) {
    if (entry.element == GgufType::F32) return static_cast<double>(element<float>(entry, index));
    if (entry.element == GgufType::F64) return element<double>(entry, index);
    return std::nullopt;
}

template <typename T>
Status out_of_range(std::string_view key, T value, T min, T max) {
    return {Code::Corrupt, "key " + std::string(key) + " is " + std::to_string(value) +
                               "; it must be between " + std::to_string(min) + " and " + std::to_string(max)};
}

Result<std::int64_t> checked_integer(const GgufEntry& entry, std::size_t index, std::int64_t min,
                                     std::int64_t max) {
    const auto value = integer_at(entry, index);
    if (!value) return wrong_type(entry, "an integer");
    if (*value < min || *value > max) return out_of_range(entry.key, *value, min, max);
    return *value;
}

Result<float> checked_float(const GgufEntry& entry, std::size_t index, float min, float max) {
    const auto value = float_at(entry, index);
    if (!value) return wrong_type(entry, "a floating-point number");
    if (!(*value >= static_cast<double>(min) && *value <= static_cast<double>(max))) {
        return out_of_range(entry.key, *value, static_cast<double>(min), static_cast<double>(max));
    }
    return static_cast<float>(*value);
}

Result<const GgufEntry*> scalar(const GgufReader& reader, std::string_view key, std::string_view wanted) {
    const GgufEntry* entry = reader.find(key);
    if (entry == nullptr) return missing(key);
    if (entry->is_array) return wrong_type(*entry, wanted);
    return entry;
}

Result<const GgufEntry*> array(const GgufReader& reader, std::string_view key, std::string_view wanted) {
    const GgufEntry* entry = reader.find(key);
    if (entry == nullptr) return missing(key);
    if (!entry->is_array) return wrong_type(*entry, wanted);
    return entry;
}

Status wrong_count(const GgufEntry& entry, std::size_t count) {
    return {Code::Corrupt, "key " + std::string(entry.key) + " has " + std::to_string(entry.count) +
                               " elements; " + std::to_string(count) + " are needed"};
}

Status too_long(const GgufEntry& entry, std::size_t max_count) {
    return {Code::Corrupt, "key " + std::string(entry.key) + " has " + std::to_string(entry.count) +
                               " elements; the limit is " + std::to_string(max_count)};
}

}  // namespace

Result<std::int64_t> read_integer(const GgufReader& reader, std::string_view key, std::int64_t min,
                                  std::int64_t max) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, scalar(reader, key, "an integer"));
    return checked_integer(*entry, 0, min, max);
}

Result<float> read_float(const GgufReader& reader, std::string_view key, float min, float max) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, scalar(reader, key, "a floating-point number"));
    return checked_float(*entry, 0, min, max);
}

Result<bool> read_flag(const GgufReader& reader, std::string_view key) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, scalar(reader, key, "a bool"));
    if (entry->element != GgufType::Bool) return wrong_type(*entry, "a bool");
    const auto value = element<std::uint8_t>(*entry, 0);
    if (value > 1) return out_of_range<int>(key, value, 0, 1);
    return value == 1;
}

Result<std::string_view> read_string(const GgufReader& reader, std::string_view key) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, scalar(reader, key, "a string"));
    if (entry->element != GgufType::String) return wrong_type(*entry, "a string");
    const auto text = entry->data.subspan(sizeof(std::uint64_t));
    return std::string_view(reinterpret_cast<const char*>(text.data()), text.size());
}

Result<std::vector<std::int64_t>> read_integers(const GgufReader& reader, std::string_view key,
                                                std::size_t max_count, std::int64_t min, std::int64_t max) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, array(reader, key, "an array of integers"));
    if (entry->count > max_count) return too_long(*entry, max_count);
    std::vector<std::int64_t> values;
    values.reserve(static_cast<std::size_t>(entry->count));
    for (std::size_t i = 0; i < entry->count; ++i) {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, checked_integer(*entry, i, min, max));
        values.push_back(value);
    }
    return values;
}

Result<std::vector<float>> read_floats(const GgufReader& reader, std::string_view key, std::size_t count,
                                       float min, float max) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, array(reader, key, "an array of floating-point numbers"));
    if (entry->count != count) return wrong_count(*entry, count);
    std::vector<float> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        CLASP_ASSIGN_OR_RETURN(const float value, checked_float(*entry, i, min, max));
        values.push_back(value);
    }
    return values;
}

Result<std::vector<bool>> read_flags(const GgufReader& reader, std::string_view key, std::size_t count) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, array(reader, key, "an array of flags"));
    if (entry->count != count) return wrong_count(*entry, count);
    std::vector<bool> values;
    values.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const bool is_bool = entry->element == GgufType::Bool;
        const auto value = is_bool ? element<std::uint8_t>(*entry, i) : integer_at(*entry, i);
        if (!value) return wrong_type(*entry, "an array of flags");
        if (*value < 0 || *value > 1) return out_of_range<std::int64_t>(key, *value, 0, 1);
        values.push_back(*value == 1);
    }
    return values;
}

Result<std::vector<std::string_view>> read_strings(const GgufReader& reader, std::string_view key,
                                                   std::size_t max_count) {
    CLASP_ASSIGN_OR_RETURN(const GgufEntry* entry, array(reader, key, "an array of strings"));
    if (entry->element != GgufType::String) return wrong_type(*entry, "an array of strings");
    if (entry->count > max_count) return too_long(*entry, max_count);
    std::vector<std::string_view> values;
    values.reserve(static_cast<std::size_t>(entry->count));
    std::size_t position = 0;  // lengths were checked when the container was read
    for (std::size_t i = 0; i < entry->count; ++i) {
        std::uint64_t length = 0;
        std::memcpy(&length, entry->data.data() + position, sizeof(length));
        position += sizeof(length);
        values.emplace_back(reinterpret_cast<const char*>(entry->data.data() + position),
                            static_cast<std::size_t>(length));
        position += static_cast<std::size_t>(length);
    }
    return values;
}

}  // namespace clasp::model
