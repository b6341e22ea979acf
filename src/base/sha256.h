// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace clasp::base {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
   public:
    void update(std::span<const std::byte> bytes);
    void update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }

    // The digest of everything so far. The object is then used up.
    Digest finish();

   private:
    void take_blocks(const std::byte* blocks, std::size_t count);  // of 64 bytes

    std::array<std::uint32_t, 8> state_ = {0x6a09e667U, 0xbb67ae85U, 0x3c6ef372U, 0xa54ff53aU,
                                           0x510e527fU, 0x9b05688cU, 0x1f83d9abU, 0x5be0cd19U};
    std::array<std::byte, 64> pending_{};
    std::uint64_t n_bytes_ = 0;
};

Digest sha256(std::span<const std::byte> bytes);

// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);
std::string sha256_hex(std::string_view text);

}  // namespace clasp::base
