// A key over several parts: each goes in with its length, so that no two lists of parts make the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace clasp::engine {

class KeyHash {
   public:
    // kind: what the key is for.
    explicit KeyHash(std::string_view kind) { add(kind); }

    void add(std::string_view text) { add_values(std::span(text.data(), text.size())); }
    void add_number(std::uint64_t number) { add_values(std::span(&number, 1)); }
    template <typename Value>
    void add_values(std::span<const Value> values) {
        const std::uint64_t n = values.size_bytes();
        hash_.update(std::as_bytes(std::span(&n, 1)));
        hash_.update(std::as_bytes(values));
    }
    template <typename Value>
    void add_values(std::span<Value> values) {
        add_values(std::span<const Value>(values));
    }

    // 64 hexadecimal digits. The object is then used up.
    std::string finish() { return base::to_hex(hash_.finish()); }

   private:
    base::Sha256 hash_;
};

}  // namespace clasp::engine
