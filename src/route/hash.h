// FNV-1a, the hash behind feature ids, file hashes and cache keys. Not for hostile tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace clasp::route {

inline constexpr std::uint64_t kHashStart = 14695981039346656037ull;

constexpr std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = kHashStart) {
    std::uint64_t h = seed;
    for (const char c : bytes) {
        h ^= static_cast<unsigned char>(c);
        h *= 1099511628211ull;
    }
    return h;
}

}  // namespace clasp::route
