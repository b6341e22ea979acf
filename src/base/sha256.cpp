#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/sha256_blocks.h"

namespace clasp::base {
namespace {

std::uint32_t load_big_endian(const std::byte* bytes) {
    return (std::to_integer<std::uint32_t>(bytes[0]) << 24U) |
           (std::to_integer<std::uint32_t>(bytes[1]) << 16U) |
           (std::to_integer<std::uint32_t>(bytes[2]) << 8U) | std::to_integer<std::uint32_t>(bytes[3]);
}

void compress(ShaState& state, const std::byte* block) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) w[i] = load_big_endian(block + 4 * i);
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3U);
        const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10U);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const std::uint32_t choice = (e & f) ^ (~e & g);
        const std::uint32_t t1 = h + s1 + choice + kShaRounds[i] + w[i];
        const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + s0 + majority;
    }
    const std::array<std::uint32_t, 8> add = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += add[i];
}

}  // namespace

void sha_blocks_plain(ShaState& state, const std::byte* blocks, std::size_t count) {
    for (; count > 0; --count, blocks += 64) compress(state, blocks);
}

void Sha256::take_blocks(const std::byte* blocks, std::size_t count) {
    static const bool has_instructions = has_sha_instructions();
    (has_instructions ? sha_blocks_x86 : sha_blocks_plain)(state_, blocks, count);
}

void Sha256::update(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t used = n_bytes_ % pending_.size();
        if (used == 0 && bytes.size() >= pending_.size()) {
            const std::size_t whole = bytes.size() / pending_.size();
            take_blocks(bytes.data(), whole);
            n_bytes_ += whole * pending_.size();
            bytes = bytes.subspan(whole * pending_.size());
            continue;
        }
        const std::size_t n = std::min(bytes.size(), pending_.size() - used);
        std::memcpy(pending_.data() + used, bytes.data(), n);
        n_bytes_ += n;
        bytes = bytes.subspan(n);
        if (used + n == pending_.size()) take_blocks(pending_.data(), 1);
    }
}

Digest Sha256::finish() {
    const std::uint64_t n_bits = n_bytes_ * 8;
    std::array<std::byte, 72> padding{};
    padding[0] = std::byte{0x80};
    // A one bit, zeros up to 8 bytes before the end of a block, then the length.
    const std::size_t n_zeros = (119 - n_bytes_ % 64) % 64;
    for (std::size_t i = 0; i < 8; ++i) {
        padding[1 + n_zeros + i] = static_cast<std::byte>((n_bits >> (56 - 8 * i)) & 0xffU);
    }
    update(std::span(padding).first(1 + n_zeros + 8));
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<std::uint8_t>((state_[i / 4] >> (24 - 8 * (i % 4))) & 0xffU);
    }
    return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.update(bytes);
    return hash.finish();
}

std::string to_hex(const Digest& digest) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text += kHex[byte >> 4U];
        text += kHex[byte & 15U];
    }
    return text;
}

std::string sha256_hex(std::string_view text) {
    Sha256 hash;
    hash.update(text);
    return to_hex(hash.finish());
}

}  // namespace clasp::base
