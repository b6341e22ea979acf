#include "serve/fields.h"

#include <algorithm>

#include "base/text.h"

namespace clasp::serve {

namespace {

using base::Json;

// The first object with too many keys, by its size; 0: none.
std::size_t widest_object(const Json& json, std::size_t limit) {
    std::size_t widest = json.is_object() && json.size() > limit ? json.size() : 0;
    for (const base::JsonMember& member : json.items()) {
        widest = std::max(widest, widest_object(member.value, limit));
    }
    for (const Json& element : json) widest = std::max(widest, widest_object(element, limit));
    return widest;
}

}  // namespace

Check read_body(std::string_view body, const HttpLimits& http, const RequestLimits& limits, Json& json) {
    auto parsed =
        base::parse_json(body, {.max_bytes = http.max_body_bytes, .max_depth = limits.max_json_depth},
                         base::KeyOrder::AsWritten);
    if (!parsed.ok())
        return bad_field("invalid_json", "", "the body cannot be read: " + parsed.status().message());
    if (!parsed->is_object()) return bad_field("invalid_json", "", "the body is not a JSON object");
    if (const std::size_t n = widest_object(*parsed, limits.max_keys); n > 0) {
        return bad_field("invalid_json", "",
                         "an object of the body has " + std::to_string(n) + " keys, at most " +
                             std::to_string(limits.max_keys));
    }
    json = std::move(*parsed);
    return std::nullopt;
}

const Json* Fields::find(std::string_view key) const {
    const Json* value = object_.find(key);
    return value != nullptr && !value->is_null() ? value : nullptr;
}

Refusal Fields::wrong_type(std::string_view key, std::string_view what) const {
    return bad_field("wrong_type", name(key), name(key) + " takes " + std::string(what));
}

Check Fields::read(std::string_view key, long long min, long long max, std::optional<long long>& out) const {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) return wrong_type(key, "a whole number");
    const auto whole = value->get<long long>();
    if (!whole && value->is_number_float() && value->get<double>() >= -9e15 && value->get<double>() <= 9e15) {
        return wrong_type(key, "a whole number");
    }
    if (!whole || *whole < min || *whole > max) {
        return bad_field("out_of_range", name(key),
                         name(key) + " must be between " + std::to_string(min) + " and " +
                             std::to_string(max) + ", got " + base::dump_json(*value));
    }
    out = whole;
    return std::nullopt;
}

Check Fields::read(std::string_view key, double min, double max, std::optional<double>& out) const {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    const auto number = value->get<double>();
    if (!number) return wrong_type(key, "a number");
    if (!(*number >= min && *number <= max)) {
        return bad_field("out_of_range", name(key),
                         name(key) + " must be between " + base::format_exact(min) + " and " +
                             base::format_exact(max) + ", got " + base::dump_json(*value));
    }
    out = number;
    return std::nullopt;
}

Check Fields::read(std::string_view key, bool& out) const {
    const Json* value = find(key);
    if (value != nullptr && !value->get_to(out)) return wrong_type(key, "true or false");
    return std::nullopt;
}

Check Fields::read(std::string_view key, std::string& out) const {
    const Json* value = find(key);
    if (value != nullptr && !value->get_to(out)) return wrong_type(key, "a text");
    return std::nullopt;
}

Check Fields::read_texts(std::string_view key, std::size_t max_texts, std::size_t max_bytes,
                         std::vector<std::string>& out) const {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    std::vector<std::string> texts;
    if (const std::string* text = value->as_string()) {
        texts.push_back(*text);
    } else if (!value->get_to(texts)) {
        return wrong_type(key, "a text or a list of texts");
    }
    if (texts.size() > max_texts) {
        return bad_field("out_of_range", name(key),
                         name(key) + " takes at most " + std::to_string(max_texts) + " texts, got " +
                             std::to_string(texts.size()));
    }
    for (const std::string& text : texts) {
        if (text.empty() || text.size() > max_bytes) {
            return bad_field("out_of_range", name(key),
                             name(key) + " takes texts of 1 to " + std::to_string(max_bytes) +
                                 " bytes, got one of " + std::to_string(text.size()));
        }
    }
    out = std::move(texts);
    return std::nullopt;
}

}  // namespace clasp::serve
