#include "route/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "route/frame.h"

namespace clasp::route {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<std::string> frame_of(std::string_view text) {
    const Lexicon& lexicon = Lexicon::builtin();
    const auto segments = lexicon.tag(split_words(text));
    std::vector<std::string> out;
    for (const std::string_view part : make_frame(segments, lexicon).parts) out.emplace_back(part);
    return out;
}

std::vector<std::string> names_of(std::string_view text) {
    std::vector<std::string> out;
    for (const NamedFeature& f : extract_named_features(split_words(text), Lexicon::builtin()))
        out.push_back(f.name);
    return out;
}

TEST(Lexicon, LongestEntryWinsAndVerbsInflect) {
    const auto lexicon = Lexicon::parse("PREP: in front of\nself: in\nACT: ride~, carry~, watch~\n");
    ASSERT_TRUE(lexicon.ok());
    const auto tags = [&](std::string_view text) {
        std::vector<std::string> out;
        for (const Segment& s : lexicon->tag(split_words(text))) out.emplace_back(lexicon->name(s.tag));
        return out;
    };
    EXPECT_THAT(tags("in front of me in rome"), ElementsAre("PREP", "X", "in", "X"));
    EXPECT_THAT(tags("rides rode riding carried watches"), ElementsAre("ACT", "X", "ACT+ING", "ACT", "ACT"));
    EXPECT_THAT(tags("7 B ? growing jumped Oslo"),
                ElementsAre("NUM", "LETTER", "MARK", "ING", "ED", "PROPER"));
}

TEST(Lexicon, BadLinesAreNamed) {
    EXPECT_EQ(Lexicon::parse("A: b\nno colon\n").status().message(),
              "lexicon line 2 is not 'CLASS: entry, ...'");
    EXPECT_FALSE(Lexicon::parse(": x").ok());
    EXPECT_FALSE(Lexicon::parse("A:  ").ok());
}

TEST(Frame, NounPhrasesShrinkAndPredicatesStay) {
    EXPECT_THAT(frame_of("Is the umbrella red?"), ElementsAre("^", "be", "NP", "COLOUR", "?", "$"));
    EXPECT_THAT(frame_of("Is the fluffy dog next to a car?"),
                ElementsAre("^", "be", "NP+LIVING", "PREP", "NP", "?", "$"));
    EXPECT_THAT(frame_of("Is there a glacier in this image?"),
                ElementsAre("^", "be", "there", "NP", "?", "$"));
}

TEST(Features, AreUniqueFiniteAndRepeatable) {
    const auto words = split_words("What kind of animal is to the left of the tall man, a dog or a dog?");
    const auto a = extract_features(words, Lexicon::builtin());
    const auto b = extract_features(words, Lexicon::builtin());
    std::set<std::uint32_t> ids;
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_TRUE(ids.insert(a[i].id).second);
        EXPECT_GT(a[i].value, 0.0f);
        EXPECT_EQ(a[i].id, b[i].id);
        EXPECT_EQ(a[i].value, b[i].value);
    }
}

TEST(Features, NamedAndPlainAreTheSame) {
    const auto words = split_words("How many cats are on the sofa?");
    const auto plain = extract_features(words, Lexicon::builtin());
    const auto named = extract_named_features(words, Lexicon::builtin());
    ASSERT_EQ(plain.size(), named.size());
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i].id, named[i].feature.id);
    EXPECT_THAT(names_of("How many cats are on the sofa?"), Contains("t:HOWMANY"));
    EXPECT_THAT(names_of("What color is it?"), Contains("q:head:color"));
}

// Chinese words share the classes of English ones, so what is learned from one serves the other.
TEST(Features, ClassesAreSharedAcrossLanguages) {
    EXPECT_THAT(names_of("\xE5\x9B\xBE\xE4\xB8\xAD\xE6\x9C\x89\xE5\xA4\x9A\xE5\xB0\x91\xE4\xBA\xBA"),
                Contains("t:HOWMANY"));
}

TEST(Features, ManyDistinctWordsGrowTheTable) {
    std::string text;
    for (int i = 0; i < 256; ++i)
        text += "word" + std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(i) + "z ";
    const auto features = extract_features(split_words(text), Lexicon::builtin());
    std::set<std::uint32_t> ids;
    for (const Feature& f : features) EXPECT_TRUE(ids.insert(f.id).second);
    EXPECT_GT(features.size(), 1000u);
}

TEST(Frame, SeesWhatIsAskedFor) {
    const Lexicon& lexicon = Lexicon::builtin();
    const auto segments = lexicon.tag(split_words("What kind of furniture is wooden?"));
    const Frame frame = make_frame(segments, lexicon);
    EXPECT_EQ(frame.target_tag, "FURNITURE");
    EXPECT_TRUE(frame.is_general_target);
    EXPECT_TRUE(frame.is_kind_of_target);
    EXPECT_EQ(frame.after_target, "be");
    EXPECT_EQ(frame.last_tag, "MATERIAL");
    const auto alone = lexicon.tag(split_words("What is on the big chair?"));
    EXPECT_TRUE(make_frame(alone, lexicon).target_tag.empty());
    EXPECT_EQ(make_frame(alone, lexicon).after_target, "be");
    const auto chair = lexicon.tag(split_words("Which chair is empty?"));
    EXPECT_FALSE(make_frame(chair, lexicon).is_general_target);
}

TEST(Features, EmptyTextHasThoseOfItsEmptyFrameOnly) {
    const auto features = extract_features({}, Lexicon::builtin());
    EXPECT_FALSE(features.empty());
    for (const Feature& f : features) EXPECT_FALSE(f.lexical);
}

}  // namespace
}  // namespace clasp::route
