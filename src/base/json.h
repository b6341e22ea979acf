// JSON from outside: bounded, strict, without exceptions.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "clasp/status.h"

namespace clasp::base {

struct JsonLimits {
    std::size_t max_bytes = std::size_t{1} << 20U;
    std::size_t max_depth = 16;  // nested objects and arrays
};

// Errors: too_large (bytes or depth), corrupt (not JSON, a key twice in one object; the message says where).
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits);

// Text for output; bytes that are not UTF-8 become the replacement character instead of an exception.
std::string dump_json(const nlohmann::json& value, int indent = -1);
std::string dump_json(const nlohmann::ordered_json& value, int indent = -1);

// What was not measured is null, never 0.
template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace clasp::base
