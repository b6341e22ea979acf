// Reads the fields of a JSON object with messages that name object and field. Private to policy.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "clasp/status.h"

namespace clasp::policy {

class ObjectReader {
   public:
    // `where` names the object in messages: "the policy", "class 3". The value is borrowed.
    ObjectReader(const base::Json& value, std::string where) : value_(value), where_(std::move(where)) {}

    // An object whose keys are all among those known.
    Status check(std::initializer_list<std::string_view> known) const;

    [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
    // Null when the key is absent.
    [[nodiscard]] const base::Json* find(std::string_view key) const;
    // An absent key is an error.
    Status require(std::string_view key) const;

    // Each leaves `out` alone when the key is absent and fails when the value has another type.
    Status read(std::string_view key, std::string& out) const;
    Status read(std::string_view key, double& out) const;
    Status read(std::string_view key, std::size_t& out) const;
    Status read(std::string_view key, std::vector<std::size_t>& out) const;

   private:
    Status wrong_type(std::string_view key, std::string_view wanted) const;

    const base::Json& value_;
    std::string where_;
};

}  // namespace clasp::policy
