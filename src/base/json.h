// JSON values, and JSON from outside: bounded, strict, without exceptions. The header is light, because
// half of the program includes it; the parser behind it is compiled once (json_text.cpp).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "clasp/status.h"

namespace clasp::base {

struct JsonMember;

// What a JSON object holds. Keys that rise from member to member are found by bisection.
struct JsonObject {
    std::vector<JsonMember> members;
    bool keys_rise = true;
};

// Null, a bool, a number, a string, a list, or an object that keeps the order of its members. Whole numbers
// keep their sign and all 64 bits.
class Json {
   public:
    Json();
    Json(std::nullptr_t);
    // Templates, so that a pointer does not become a bool nor a number another kind of number.
    template <std::same_as<bool> T>
    Json(T value) : Json(Truth{value}) {}
    template <std::signed_integral T>
    Json(T value) : Json(static_cast<std::int64_t>(value)) {}
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) Json(T value) : Json(static_cast<std::uint64_t>(value)) {}
    template <std::floating_point T>
    Json(T value) : Json(static_cast<double>(value)) {}
    Json(std::int64_t value);
    Json(std::uint64_t value);
    Json(double value);
    Json(const char* text);
    Json(std::string_view text);
    Json(std::string text);
    Json(std::vector<Json> elements);
    template <typename T>
    Json(const std::vector<T>& elements) : Json(std::vector<Json>(elements.begin(), elements.end())) {}
    // {{"a", 1}, {"b", 2}} is an object, because all its elements are pairs that begin with a string; any
    // other list is a list.
    Json(std::initializer_list<Json> elements);

    Json(const Json& other);
    Json(Json&& other) noexcept;
    Json& operator=(const Json& other);
    Json& operator=(Json&& other) noexcept;
    ~Json();

    static Json array(std::initializer_list<Json> elements = {});
    static Json object();
    // Precondition: no key twice.
    static Json object(std::vector<JsonMember> members);

    [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    [[nodiscard]] bool is_boolean() const { return std::holds_alternative<bool>(value_); }
    [[nodiscard]] bool is_string() const { return std::holds_alternative<std::string>(value_); }
    [[nodiscard]] bool is_array() const { return std::holds_alternative<std::vector<Json>>(value_); }
    [[nodiscard]] bool is_object() const { return std::holds_alternative<JsonObject>(value_); }
    [[nodiscard]] bool is_number() const { return is_number_integer() || is_number_float(); }
    // Written without point and exponent.
    [[nodiscard]] bool is_number_integer() const {
        return std::holds_alternative<std::int64_t>(value_) || is_number_unsigned();
    }
    // The same, and read without a sign or made of an unsigned number.
    [[nodiscard]] bool is_number_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
    [[nodiscard]] bool is_number_float() const { return std::holds_alternative<double>(value_); }

    // Whether the value is of that type and `out` now holds it; `out` is left alone otherwise. A whole number
    // has to fit, however it is written (1e2 is 100; 1e30, 0.5 and, where there is no sign, -1 do not fit).
    [[nodiscard]] bool get_to(bool& out) const;
    [[nodiscard]] bool get_to(double& out) const;
    [[nodiscard]] bool get_to(std::string& out) const;
    template <std::integral T>
    [[nodiscard]] bool get_to(T& out) const;
    template <typename T>
    [[nodiscard]] bool get_to(std::vector<T>& out) const;
    // The same as a value; nothing where the value is of another type.
    template <typename T>
    [[nodiscard]] std::optional<T> get() const;
    // The text of a string in place; null for other values.
    [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&value_); }

    // Number of elements or members; 0 for all other values.
    [[nodiscard]] std::size_t size() const;
    // Null, or a list or object of nothing.
    [[nodiscard]] bool empty() const { return (is_null() || is_array() || is_object()) && size() == 0; }

    // The elements of a list; nothing for other values.
    [[nodiscard]] const Json* begin() const;
    [[nodiscard]] const Json* end() const;
    // The members of an object; nothing for other values.
    [[nodiscard]] const std::vector<JsonMember>& items() const;

    // Null when this is no object or lacks the key.
    [[nodiscard]] const Json* find(std::string_view key) const;
    [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
    // What is not there reads as null.
    const Json& operator[](std::string_view key) const;
    const Json& operator[](std::size_t index) const;
    // For writing: a key that is not there is added, and null becomes an object. Precondition: nothing else.
    Json& operator[](std::string_view key);
    // Precondition: a list with that element.
    Json& operator[](std::size_t index);
    // Null becomes a list. Precondition: nothing else but a list.
    void push_back(Json element);

    // Numbers are equal when their values are; the order of members does not matter.
    friend bool operator==(const Json& a, const Json& b);

   private:
    using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                               std::vector<Json>, JsonObject>;

    struct Truth {
        bool value;
    };
    explicit Json(Truth truth);
    explicit Json(JsonObject object);
    [[nodiscard]] std::optional<std::int64_t> as_signed() const;
    [[nodiscard]] std::optional<std::uint64_t> as_unsigned() const;

    Value value_;
};

struct JsonMember {
    std::string key;
    Json value;
};

std::ostream& operator<<(std::ostream& out, const Json& value);  // as dump_json()

struct JsonLimits {
    std::size_t max_bytes = std::size_t{1} << 20U;
    std::size_t max_depth = 16;  // nested objects and arrays
};

enum class KeyOrder : std::uint8_t { Sorted, AsWritten };

// Errors: too_large (bytes or depth), corrupt (not JSON, a key twice in one object; the message says where).
Result<Json> parse_json(std::string_view text, const JsonLimits& limits, KeyOrder order = KeyOrder::Sorted);

// Text for output, in one line unless there is an indent; bytes that are not UTF-8 become the replacement
// character. Numbers that JSON cannot write (NaN, infinity) become null.
std::string dump_json(const Json& value, int indent = -1);
// The same in one line with everything but ASCII escaped.
std::string dump_json_ascii(const Json& value);

// What was not measured is null, never 0.
template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

template <std::integral T>
bool Json::get_to(T& out) const {
    const auto fit = [&out](const auto& whole) {
        if (!whole || !std::in_range<T>(*whole)) return false;
        out = static_cast<T>(*whole);
        return true;
    };
    if constexpr (std::signed_integral<T>) return fit(as_signed());
    return fit(as_unsigned());
}

template <typename T>
bool Json::get_to(std::vector<T>& out) const {
    if (!is_array()) return false;
    std::vector<T> elements;
    elements.reserve(size());
    for (const Json& element : *this) {
        T item{};
        if (!element.get_to(item)) return false;
        elements.push_back(std::move(item));
    }
    out = std::move(elements);
    return true;
}

template <typename T>
std::optional<T> Json::get() const {
    T out{};
    if (!get_to(out)) return std::nullopt;
    return out;
}

}  // namespace clasp::base
