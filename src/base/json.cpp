#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/check.h"

namespace clasp::base {
namespace {

const Json& null_value() {
    static const Json null;
    return null;
}

bool is_pair(const Json& element) {
    return element.is_array() && element.size() == 2 && element[std::size_t{0}].is_string();
}

bool keys_rise(const std::vector<JsonMember>& members) {
    return std::adjacent_find(members.begin(), members.end(), [](const JsonMember& a, const JsonMember& b) {
               return a.key >= b.key;
           }) == members.end();
}

const JsonMember* find_member(const JsonObject& object, std::string_view key) {
    const auto& members = object.members;
    if (!object.keys_rise) {
        const auto found = std::find_if(members.begin(), members.end(),
                                        [&](const JsonMember& member) { return member.key == key; });
        return found == members.end() ? nullptr : &*found;
    }
    const auto found = std::lower_bound(
        members.begin(), members.end(), key,
        [](const JsonMember& member, std::string_view wanted) { return member.key < wanted; });
    return found == members.end() || found->key != key ? nullptr : &*found;
}

bool same_members(const JsonObject& a, const JsonObject& b) {
    if (a.members.size() != b.members.size()) return false;
    for (std::size_t i = 0; i < a.members.size(); ++i) {
        const auto& [key, value] = a.members[i];
        const JsonMember* other = b.members[i].key == key ? &b.members[i] : find_member(b, key);
        if (other == nullptr || !(other->value == value)) return false;
    }
    return true;
}

// The value of a double as a whole number, where it is one and fits.
template <typename Whole>
std::optional<Whole> whole_number(double value) {
    // The first power of two past the type is exact as a double; its largest value is not.
    const double end = std::ldexp(1.0, std::numeric_limits<Whole>::digits);
    const double least = std::is_signed_v<Whole> ? -end : 0.0;
    if (!(value >= least && value < end) || std::trunc(value) != value) return std::nullopt;
    return static_cast<Whole>(value);
}

template <typename Whole>
bool same_number(Whole whole, double number) {
    const auto other = whole_number<Whole>(number);
    return other && *other == whole;
}

}  // namespace

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(Truth truth) : value_(truth.value) {}
Json::Json(std::int64_t value) : value_(value) {}
Json::Json(std::uint64_t value) : value_(value) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::vector<Json> elements) : value_(std::move(elements)) {}
Json::Json(JsonObject object) : value_(std::move(object)) {}

Json::Json(std::initializer_list<Json> elements) {
    if (!std::all_of(elements.begin(), elements.end(), is_pair)) {
        value_ = std::vector<Json>(elements);
        return;
    }
    value_ = JsonObject{};
    for (const Json& pair : elements) (*this)[*pair[std::size_t{0}].as_string()] = pair[1];
}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array(std::initializer_list<Json> elements) {
    return Json(std::vector<Json>(elements));
}

Json Json::object() {
    return Json(JsonObject{});
}

Json Json::object(std::vector<JsonMember> members) {
    const bool rise = keys_rise(members);
    return Json(JsonObject{std::move(members), rise});
}

bool Json::get_to(bool& out) const {
    const bool* const value = std::get_if<bool>(&value_);
    if (value != nullptr) out = *value;
    return value != nullptr;
}

bool Json::get_to(double& out) const {
    if (const auto* const value = std::get_if<double>(&value_)) {
        out = *value;
    } else if (const auto* const whole = std::get_if<std::int64_t>(&value_)) {
        out = static_cast<double>(*whole);
    } else if (const auto* const count = std::get_if<std::uint64_t>(&value_)) {
        out = static_cast<double>(*count);
    } else {
        return false;
    }
    return true;
}

bool Json::get_to(std::string& out) const {
    const std::string* const text = as_string();
    if (text != nullptr) out = *text;
    return text != nullptr;
}

std::optional<std::int64_t> Json::as_signed() const {
    if (const auto* const value = std::get_if<std::int64_t>(&value_)) return *value;
    if (const auto* const value = std::get_if<double>(&value_)) return whole_number<std::int64_t>(*value);
    const auto* const value = std::get_if<std::uint64_t>(&value_);
    if (value == nullptr || !std::in_range<std::int64_t>(*value)) return std::nullopt;
    return static_cast<std::int64_t>(*value);
}

std::optional<std::uint64_t> Json::as_unsigned() const {
    if (const auto* const value = std::get_if<std::uint64_t>(&value_)) return *value;
    if (const auto* const value = std::get_if<double>(&value_)) return whole_number<std::uint64_t>(*value);
    const auto* const value = std::get_if<std::int64_t>(&value_);
    if (value == nullptr || *value < 0) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
}

std::size_t Json::size() const {
    if (const auto* const list = std::get_if<std::vector<Json>>(&value_)) return list->size();
    return items().size();
}

const Json* Json::begin() const {
    const auto* const list = std::get_if<std::vector<Json>>(&value_);
    return list != nullptr ? list->data() : nullptr;
}

const Json* Json::end() const {
    const auto* const list = std::get_if<std::vector<Json>>(&value_);
    return list != nullptr ? list->data() + list->size() : nullptr;
}

const std::vector<JsonMember>& Json::items() const {
    static const std::vector<JsonMember> none;
    const auto* const object = std::get_if<JsonObject>(&value_);
    return object != nullptr ? object->members : none;
}

const Json* Json::find(std::string_view key) const {
    const auto* const object = std::get_if<JsonObject>(&value_);
    const JsonMember* const member = object != nullptr ? find_member(*object, key) : nullptr;
    return member != nullptr ? &member->value : nullptr;
}

const Json& Json::operator[](std::string_view key) const {
    const Json* const value = find(key);
    return value != nullptr ? *value : null_value();
}

const Json& Json::operator[](std::size_t index) const {
    const auto* const list = std::get_if<std::vector<Json>>(&value_);
    return list != nullptr && index < list->size() ? (*list)[index] : null_value();
}

Json& Json::operator[](std::string_view key) {
    if (is_null()) value_ = JsonObject{};
    auto* const object = std::get_if<JsonObject>(&value_);
    CLASP_CHECK(object != nullptr);
    std::vector<JsonMember>& members = object->members;
    if (const JsonMember* const known = find_member(*object, key)) {
        return members[static_cast<std::size_t>(known - members.data())].value;
    }
    if (!members.empty() && members.back().key > key) object->keys_rise = false;
    return members.emplace_back(JsonMember{std::string(key), Json()}).value;
}

Json& Json::operator[](std::size_t index) {
    auto* const list = std::get_if<std::vector<Json>>(&value_);
    CLASP_CHECK(list != nullptr && index < list->size());
    return (*list)[index];
}

void Json::push_back(Json element) {
    if (is_null()) value_ = std::vector<Json>();
    auto* const list = std::get_if<std::vector<Json>>(&value_);
    CLASP_CHECK(list != nullptr);
    list->push_back(std::move(element));
}

bool operator==(const Json& a, const Json& b) {
    const auto same = [](const auto& x, const auto& y) {
        using X = std::decay_t<decltype(x)>;
        using Y = std::decay_t<decltype(y)>;
        constexpr bool kIsX_Whole = std::is_same_v<X, std::int64_t> || std::is_same_v<X, std::uint64_t>;
        constexpr bool kIsY_Whole = std::is_same_v<Y, std::int64_t> || std::is_same_v<Y, std::uint64_t>;
        if constexpr (kIsX_Whole && kIsY_Whole) {
            return std::cmp_equal(x, y);
        } else if constexpr (kIsX_Whole && std::is_same_v<Y, double>) {
            return same_number(x, y);
        } else if constexpr (kIsY_Whole && std::is_same_v<X, double>) {
            return same_number(y, x);
        } else if constexpr (!std::is_same_v<X, Y>) {
            return false;
        } else if constexpr (std::is_same_v<X, JsonObject>) {
            return same_members(x, y);
        } else {
            return x == y;
        }
    };
    return std::visit(same, a.value_, b.value_);
}

}  // namespace clasp::base
