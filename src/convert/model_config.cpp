#include "convert/model_config.h"

#include <cmath>

#include "base/text.h"

namespace clasp::convert {
namespace {

constexpr std::size_t kLongestValue = 80;

std::string shown_value(const base::Json& value) {
    return base::escaped(base::dump_json(value), kLongestValue);
}

}  // namespace

bool ModelConfig::has(std::string_view key) const {
    return !json_[key].is_null();
}

ModelConfig ModelConfig::part(const std::string& key) const {
    return {where_ + ", " + key, json_[key].is_object() ? json_[key] : base::Json::object()};
}

Status ModelConfig::wrong(const std::string& key, const std::string& reason) const {
    return {Code::Corrupt, where_ + ": " + key + " " + reason};
}

Status ModelConfig::unsupported(const std::string& key, const std::string& reason) const {
    return {Code::Unsupported, where_ + ": " + key + " is " + shown_value(json_[key]) + "; " + reason};
}

Result<std::uint64_t> ModelConfig::count(const std::string& key, std::uint64_t max,
                                         std::optional<std::uint64_t> fallback) const {
    if (!has(key)) return fallback ? Result<std::uint64_t>(*fallback) : wrong(key, "is missing");
    std::uint64_t value = 0;
    if (json_[key].get_to(value) && value >= 1 && value <= max) return value;
    return wrong(key, "is " + shown_value(json_[key]) + "; it must be a whole number from 1 to " +
                          std::to_string(max));
}

Result<std::int64_t> ModelConfig::integer(const std::string& key, std::int64_t fallback) const {
    if (!has(key)) return fallback;
    std::int64_t value = 0;
    if (json_[key].get_to(value)) return value;
    return wrong(key, "is " + shown_value(json_[key]) + ", no whole number");
}

Result<double> ModelConfig::number(const std::string& key, std::optional<double> fallback) const {
    if (!has(key)) return fallback ? Result<double>(*fallback) : wrong(key, "is missing");
    double value = 0.0;
    if (json_[key].get_to(value) && std::isfinite(value)) return value;
    return wrong(key, "is " + shown_value(json_[key]) + ", no number");
}

Result<std::string> ModelConfig::text(const std::string& key, std::optional<std::string> fallback) const {
    if (!has(key)) return fallback ? Result<std::string>(*fallback) : wrong(key, "is missing");
    std::string value;
    if (json_[key].get_to(value)) return value;
    return wrong(key, "is " + shown_value(json_[key]) + ", no text");
}

Result<bool> ModelConfig::flag(const std::string& key, bool fallback) const {
    if (!has(key)) return fallback;
    bool value = false;
    if (json_[key].get_to(value)) return value;
    return wrong(key, "is " + shown_value(json_[key]) + ", neither true nor false");
}

Result<std::vector<double>> ModelConfig::numbers(const std::string& key, std::size_t max_count) const {
    std::vector<double> values;
    if (!json_[key].get_to(values) || values.empty() || values.size() > max_count) {
        return wrong(key, "is no list of 1 to " + std::to_string(max_count) + " numbers");
    }
    return values;
}

std::string ModelConfig::architecture() const {
    const base::Json& list = json_["architectures"];
    std::string name;
    if (list.is_array() && list.size() > 0 && list[std::size_t{0}].get_to(name)) return name;
    return "";
}

}  // namespace clasp::convert
