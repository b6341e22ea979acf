// Numbers in files of our own: 64 bits, the lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace clasp::base {

inline void put_u64(std::string& out, std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xffU));
}

// From the front of a view, which then begins behind it; a view that is too short yields nothing.
inline std::optional<std::uint64_t> take_u64(std::string_view& bytes) {
    if (bytes.size() < sizeof(std::uint64_t)) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    bytes.remove_prefix(sizeof value);
    return value;
}

}  // namespace clasp::base
