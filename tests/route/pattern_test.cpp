#include "route/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clasp::route {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
    std::vector<Word> words;
    for (Word& word : split_words(text)) {
        if (word.kind != WordKind::Mark) words.push_back(std::move(word));
    }
    return Pattern::parse(pattern)->matches(words);
}

TEST(Pattern, WordsNextToEachOther) {
    EXPECT_TRUE(matches("who wrote", "Do you know who WROTE it?"));
    EXPECT_FALSE(matches("who wrote", "who really wrote it"));
    EXPECT_FALSE(matches("who wrote", "who"));
}

TEST(Pattern, AlternativesMayHaveSeveralWords) {
    EXPECT_TRUE(matches("the phone_number|fax", "give me the phone number"));
    EXPECT_TRUE(matches("the phone_number|fax", "the fax"));
    EXPECT_FALSE(matches("the phone_number|fax", "the phone"));
}

TEST(Pattern, OptionalAnyAndGap) {
    EXPECT_TRUE(matches("^ please? count", "count them"));
    EXPECT_TRUE(matches("^ please? count", "Please count them"));
    EXPECT_FALSE(matches("^ please? count", "they count"));
    EXPECT_TRUE(matches("solve for *", "solve for x"));
    EXPECT_FALSE(matches("solve for *", "solve for"));
    EXPECT_TRUE(matches("what ... used for $", "what is this odd thing used for?"));
    EXPECT_FALSE(matches("what ... used for $", "what is it used for here"));
    EXPECT_TRUE(matches("a ... b", "a b"));
    EXPECT_TRUE(matches("a ... b", "a 1 2 3 4 5 6 7 8 b"));
    EXPECT_FALSE(matches("a ... b", "a 1 2 3 4 5 6 7 8 9 b"));
}

TEST(Pattern, ChineseNeedsNoBlanks) {
    const std::string how_many = "\xE5\xA4\x9A\xE5\xB0\x91";
    EXPECT_TRUE(matches(how_many, "x" + how_many + "y"));
    EXPECT_FALSE(matches(how_many, "\xE5\xA4\x9A x \xE5\xB0\x91"));
}

TEST(Pattern, OpenEndsFitInsideOneWord) {
    EXPECT_TRUE(matches("colour~", "what colouring is it"));
    EXPECT_TRUE(matches("colour~ $", "a colour"));
    EXPECT_FALSE(matches("colour~", "a discolour"));
    EXPECT_TRUE(matches("~colour", "a discolour"));
    EXPECT_FALSE(matches("~colour", "colours"));
    EXPECT_TRUE(matches("a ~col~", "a discolouring"));
    EXPECT_FALSE(matches("~col~ x", "colour y"));
}

TEST(Pattern, WrongPatternsAreNamed) {
    for (const char* text : {"", "   ", "^", "a $ b", "a|", "\xFF", "~", "~~", "two_words~"}) {
        EXPECT_EQ(Pattern::parse(text).status().code(), Code::InvalidArgument) << text;
    }
    std::string many;
    for (int i = 0; i < 65; ++i) many += "a ";
    EXPECT_FALSE(Pattern::parse(many).ok());
}

// Without the memory of failed states this would take longer than the universe has existed.
TEST(Pattern, ManyGapsStayCheap) {
    std::string pattern = "a";
    for (int i = 0; i < 30; ++i) pattern += " ... a?";
    pattern += " ... b";
    std::string text;
    for (int i = 0; i < 250; ++i) text += "a ";
    EXPECT_FALSE(matches(pattern, text));
}

}  // namespace
}  // namespace clasp::route
