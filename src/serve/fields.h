// Values out of a JSON body, each checked for its type and range before it is anything else; what is wrong is
// named by its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "serve/limits.h"
#include "serve/refusal.h"

namespace clasp::serve {

// A body as a JSON object.
Check read_body(std::string_view body, const HttpLimits& http, const RequestLimits& limits, base::Json& json);

class Fields {
   public:
    // object is borrowed. place: in front of names in messages, "options." for one.
    explicit Fields(const base::Json& object, std::string place = {})
        : object_(object), place_(std::move(place)) {}

    // Each leaves `out` alone when the field is not there or null. 1.0 is an integer.
    Check read(std::string_view key, long long min, long long max, std::optional<long long>& out) const;
    Check read(std::string_view key, double min, double max, std::optional<double>& out) const;
    Check read(std::string_view key, bool& out) const;
    Check read(std::string_view key, std::string& out) const;
    // One text or a list of them.
    Check read_texts(std::string_view key, std::size_t max_texts, std::size_t max_bytes,
                     std::vector<std::string>& out) const;

    // Null when it is not there, or null.
    [[nodiscard]] const base::Json* find(std::string_view key) const;
    [[nodiscard]] std::string name(std::string_view key) const { return place_ + std::string(key); }

   private:
    [[nodiscard]] Refusal wrong_type(std::string_view key, std::string_view what) const;

    const base::Json& object_;
    std::string place_;
};

}  // namespace clasp::serve
