#include "policy/object_reader.h"

#include <algorithm>

#include "base/text.h"

namespace clasp::policy {
namespace {

bool is_count(const base::Json& value) {
    return value.is_number_unsigned();
}

}  // namespace

Status ObjectReader::check(std::initializer_list<std::string_view> known) const {
    if (!value_.is_object()) return {Code::Corrupt, where_ + " is not an object"};
    for (const auto& [key, value] : value_.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            return {Code::InvalidArgument, where_ + " has an unknown key " + base::in_quotes(key) +
                                               "; known are " +
                                               base::join(std::vector<std::string_view>(known))};
        }
    }
    return {};
}

const base::Json* ObjectReader::find(std::string_view key) const {
    return value_.find(key);
}

Status ObjectReader::require(std::string_view key) const {
    if (has(key)) return {};
    return {Code::InvalidArgument, where_ + " lacks key " + base::in_quotes(key)};
}

Status ObjectReader::wrong_type(std::string_view key, std::string_view wanted) const {
    return {Code::Corrupt,
            "key " + base::in_quotes(key) + " of " + where_ + " is not " + std::string(wanted)};
}

Status ObjectReader::read(std::string_view key, std::string& out) const {
    const base::Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->get_to(out)) return wrong_type(key, "a string");
    return {};
}

Status ObjectReader::read(std::string_view key, double& out) const {
    const base::Json* value = find(key);
    if (value == nullptr) return {};
    if (!value->get_to(out)) return wrong_type(key, "a number");
    return {};
}

Status ObjectReader::read(std::string_view key, std::size_t& out) const {
    const base::Json* value = find(key);
    if (value == nullptr) return {};
    if (!is_count(*value) || !value->get_to(out)) return wrong_type(key, "a whole number of at least 0");
    return {};
}

Status ObjectReader::read(std::string_view key, std::vector<std::size_t>& out) const {
    const base::Json* value = find(key);
    if (value == nullptr) return {};
    if (!std::all_of(value->begin(), value->end(), is_count) || !value->get_to(out)) {
        return wrong_type(key, "a list of whole numbers of at least 0");
    }
    return {};
}

}  // namespace clasp::policy
