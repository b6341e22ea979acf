#include "base/text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace clasp::base {
namespace {

TEST(Printable, OrdinaryTextOfAnyScriptStaysAsItIs) {
    for (const char* text : {"", "plain ASCII, with 'quotes' and \\ backslash",
                             "K\xc3\xa4se, \xe6\x97\xa5\xe6\x9c\xac, \xd7\xa2\xd7\x91, \xf0\x9f\x99\x82"}) {
        EXPECT_EQ(printable(text), text);
    }
}

TEST(Printable, WhatATerminalWouldObeyIsWrittenOut) {
    EXPECT_EQ(printable("a\x1b[31mred\x07"), "a\\x1b[31mred\\x07");
    EXPECT_EQ(printable("line\nline\tend\r"), "line\\x0aline\\x09end\\x0d");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\u{9b}31m");  // C1: a control sequence in one character
    EXPECT_EQ(printable("\xe2\x80\xae"
                        "gnp.exe"),
              "\\u{202e}gnp.exe");  // right-to-left override
    EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x80\xa8"), "\\u{2066}\\u{2028}");
    EXPECT_EQ(printable(std::string_view("nul\0", 4)), "nul\\x00");
}

TEST(Printable, BytesThatAreNotUtf8AreWrittenOut) {
    EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    EXPECT_EQ(printable("\x9b"), "\\x9b");
}

TEST(Printable, LinesAndTabsCanBeKept) {
    EXPECT_EQ(printable("a\n\tb\x1b", kLongestLine, Lines::Keep), "a\n\tb\\x1b");
}

TEST(Printable, LongTextsAreCutBetweenCharacters) {
    EXPECT_EQ(printable("0123456789", 10), "0123456789");
    EXPECT_EQ(printable("0123456789a", 10), "0123456...");
    std::string six;
    for (int i = 0; i < 6; ++i) six += "\xc3\xa4";
    EXPECT_EQ(printable(six, 10), six.substr(0, 6) + "...");
    for (std::size_t longest = 3; longest < 64; ++longest) {
        const std::string cut = printable(std::string(100, '\x1b') + "\xc3\xa4", longest);
        EXPECT_LE(cut.size(), longest);
        EXPECT_FALSE(first_invalid_utf8(cut).has_value());
    }
}

// Whatever the bytes: the result is UTF-8 without controls, and reading it again changes nothing.
TEST(Printable, EveryByteEndsUpHarmless) {
    std::string all;
    for (int a = 0; a < 256; ++a) {
        for (const int b : {0x00, 0x1b, 0x41, 0x80, 0x9f, 0xae, 0xff}) {
            all.push_back(static_cast<char>(a));
            all.push_back(static_cast<char>(b));
        }
    }
    const std::string shown = printable(all, 1 << 20);
    EXPECT_FALSE(first_invalid_utf8(shown).has_value());
    for (const char c : shown) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    EXPECT_EQ(printable(shown, 1 << 20), shown);
}

}  // namespace
}  // namespace clasp::base
