#include "route/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "route/fold.h"

namespace clasp::route {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<Word>& words) {
    std::vector<std::string> out;
    for (const Word& word : words) out.push_back(word.text);
    return out;
}

std::vector<std::string> split(std::string_view text) {
    return texts(split_words(text));
}

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
    for (char32_t c = 1; c <= 0x10FFFF; c += (c < 0x3000 ? 1 : 251)) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        std::string text;
        base::append_utf8(text, c);
        std::size_t at = 0;
        ASSERT_EQ(base::next_code_point(text, at), c);
        ASSERT_EQ(at, text.size());
    }
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
    EXPECT_EQ(base::first_invalid_utf8("plain"), std::nullopt);
    EXPECT_EQ(base::first_invalid_utf8("ab\x80"), 2u);            // lone continuation
    EXPECT_EQ(base::first_invalid_utf8("\xC0\xAF"), 0u);          // overlong slash
    EXPECT_EQ(base::first_invalid_utf8("a\xE0\x80\xAF"), 1u);     // overlong in three bytes
    EXPECT_EQ(base::first_invalid_utf8("\xED\xA0\x80"), 0u);      // surrogate
    EXPECT_EQ(base::first_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // past the last code point
    EXPECT_EQ(base::first_invalid_utf8("\xE5\x9B"), 0u);          // cut off
    EXPECT_EQ(base::first_invalid_utf8("\xFF"), 0u);
}

TEST(Fold, CaseAccentsWidthAndScript) {
    EXPECT_EQ(fold(U'Q'), U'q');
    EXPECT_EQ(fold(U'\u00C9'), U'e');       // E with acute
    EXPECT_EQ(fold(U'\u0141'), U'l');       // L with stroke
    EXPECT_EQ(fold(U'\uFF21'), U'a');       // full-width A
    EXPECT_EQ(fold(U'\u0416'), U'\u0436');  // Cyrillic
    EXPECT_EQ(fold(U'\u5716'), U'\u56fe');  // traditional to simplified
    EXPECT_EQ(fold(U'\u1EDE'), U'o');       // Vietnamese
    EXPECT_EQ(fold(U'\u0218'), U's');       // Romanian
    EXPECT_EQ(fold(U'\u0401'), U'\u0435');  // Cyrillic io
    EXPECT_EQ(fold(U'\u0623'), U'\u0627');  // Arabic alif with hamza
    EXPECT_EQ(fold(U'\u06CC'), U'\u064A');  // Persian ya
    EXPECT_EQ(fold(U'\u064E'), kDropped);   // Arabic vowel sign
    EXPECT_EQ(fold(U'\u061F'), U'?');       // Arabic question mark
    EXPECT_FALSE(is_word_character(U'\u061F'));
    EXPECT_FALSE(is_word_character(U'\u0964'));  // danda
    EXPECT_EQ(fold(U'\u2019'), U'\'');
    EXPECT_EQ(fold(U'\u0001'), U' ');
    EXPECT_EQ(fold(U'\u200B'), kDropped);
    EXPECT_EQ(fold(U'\u0301'), kDropped);
}

TEST(SplitWords, RemembersAccents) {
    const auto words =
        split_words("f\xC3\xA4rg car cafe\xCC\x81 \xD1\x87");  // composed, none, combining, Cyrillic
    ASSERT_EQ(words.size(), 4u);
    EXPECT_EQ(words[0].text, "farg");
    EXPECT_TRUE(words[0].accented);
    EXPECT_FALSE(words[1].accented);
    EXPECT_TRUE(words[2].accented);
    EXPECT_FALSE(words[3].accented);
}

TEST(SplitWords, LettersDigitsMarksAndContractions) {
    EXPECT_THAT(split("What COLOR is the caf\xC3\xA9?"),
                ElementsAre("what", "color", "is", "the", "cafe", "?"));
    EXPECT_THAT(split("What's the dog's name, isn't it?"),
                ElementsAre("what", "is", "the", "dog", "'s", "name", "is", "not", "it", "?"));
    EXPECT_THAT(split("whats this and whose is it"),
                ElementsAre("what", "is", "this", "and", "whose", "is", "it"));
    EXPECT_THAT(split("1,300.5 cats"), ElementsAre("1,300.5", "cats"));
    EXPECT_THAT(split("x = 3"), ElementsAre("x", "=", "3"));
    EXPECT_THAT(split(" \t\n\x01\x7F "), IsEmpty());
}

TEST(SplitWords, ChineseIsSplitIntoCharacters) {
    EXPECT_THAT(split("\xE5\x9B\xBE\xE4\xB8\xAD"
                      "cat"),
                ElementsAre("\xE5\x9B\xBE", "\xE4\xB8\xAD", "cat"));
}

TEST(SplitWords, CapitalsCountOnlyInsideTheQuestion) {
    const std::vector<Word> words = split_words("Is Paris big?");
    EXPECT_FALSE(words[0].capital);
    EXPECT_TRUE(words[1].capital);
    EXPECT_FALSE(words[2].capital);
}

TEST(StripBoilerplate, OptionListsGo) {
    for (const char* text : {
             "What is this?\nA. a cat\nB. a dog\nC. a cow",
             "What is this? (A) a cat (B) a dog (C) a cow",
             "What is this? A: a cat B: a dog",
             "<image>\nQuestion: What is this?\nOptions:\nA. a cat\nB. a dog\nAnswer with the option's "
             "letter from "
             "the given choices directly.",
             "What is this? Answer the question using a single word or phrase.",
             "Hint: Please answer the question and provide the final value.\nQuestion: What is this?",
             "What is this?\nReference OCR token: ACME, 12",
             "What is this? Please answer yes or no.",
         }) {
        EXPECT_THAT(texts(*read_question(text)), ElementsAre("what", "is", "this", "?")) << text;
    }
}

TEST(StripBoilerplate, LeavesQuestionsThatOnlyLookSimilar) {
    for (const char* text : {
             "Who is A. B. Smith?",
             "Is angle A: B the same as C?",
             "Answer this question using the text in the image directly.",
             "Choose the option that matches how the scenes change.",
             "Is 3 < 5 and 7 > 2?",
         }) {
        EXPECT_EQ(texts(*read_question(text)), split(text)) << text;
    }
}

TEST(StripBoilerplate, NeverLeavesNothing) {
    EXPECT_THAT(texts(*read_question("Answer yes or no.")), ElementsAre("answer", "yes", "or", "no"));
    EXPECT_THAT(texts(*read_question("A. cat B. dog")), ElementsAre("a", "cat", "b", "dog"));
}

TEST(ReadQuestion, SaysWhatItCannotRead) {
    EXPECT_EQ(read_question(std::string(kMaxQuestionBytes + 1, 'a')).status().code(), Code::TooLarge);
    const Status status = read_question("what is \xFF").status();
    EXPECT_EQ(status.code(), Code::Corrupt);
    EXPECT_EQ(status.message(), "question is not valid UTF-8 at byte 8");
}

TEST(ReadQuestion, KeepsBothEndsOfALongText) {
    std::string text = "first";
    for (int i = 0; i < 5000; ++i) text += " x";
    text += " last";
    const std::vector<Word> words = *read_question(text);
    EXPECT_EQ(words.size(), kMaxWords);
    EXPECT_EQ(words.front().text, "first");
    EXPECT_EQ(words.back().text, "last");
}

TEST(ReadQuestion, EmptyAndMarksAreNoError) {
    EXPECT_THAT(*read_question(""), IsEmpty());
    EXPECT_THAT(texts(*read_question("?!...")), ElementsAre("?"));
}

}  // namespace
}  // namespace clasp::route
