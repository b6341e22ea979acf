// NIST's examples, and chunking.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/sha256_blocks.h"

namespace clasp::base {
namespace {

TEST(Sha256, NistVectors) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                         "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
              "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheDigestOfTheWhole) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += static_cast<char>('a' + i % 26);
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const std::string_view whole = std::string_view(text).substr(0, length);
        Sha256 hash;
        for (std::size_t at = 0, step = 1; at < length; at += step, step = step * 3 % 71) {
            hash.update(whole.substr(at, step));
        }
        ASSERT_EQ(to_hex(hash.finish()), sha256_hex(whole)) << length;
    }
    EXPECT_EQ(to_hex(sha256(std::as_bytes(std::span("abc", 3)))), sha256_hex("abc"));
}

TEST(Sha256, InstructionsOfTheProcessorAgreeWithPlainCode) {
    if (!has_sha_instructions()) GTEST_SKIP() << "this processor has no SHA instructions";
    std::vector<std::byte> bytes(64 * 5);
    std::uint32_t random = 1;
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>((random = random * 1664525U + 1013904223U) >> 24U);
    for (std::size_t count = 0; count <= 5; ++count) {
        ShaState plain = {1, 0x80000000U, 3, 4, 0xffffffffU, 6, 7, 8};
        ShaState fast = plain;
        sha_blocks_plain(plain, bytes.data(), count);
        sha_blocks_x86(fast, bytes.data(), count);
        EXPECT_EQ(fast, plain) << count << " blocks";
    }
}

}  // namespace
}  // namespace clasp::base
