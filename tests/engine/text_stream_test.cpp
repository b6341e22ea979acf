#include "engine/text_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace clasp::engine {
namespace {

TEST(TextStream, JoinsCharactersThatAreSplitOverTokens) {
    TextStream stream;
    EXPECT_EQ(stream.push(" caf\xC3"), "caf");
    EXPECT_EQ(stream.push("\xA9 \xF0\x9F"), "\xC3\xA9");
    EXPECT_EQ(stream.push("\x90"), "");
    EXPECT_EQ(stream.push("\x88!\n"), " \xF0\x9F\x90\x88!");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, ReplacesWhatIsNoText) {
    TextStream stream;
    EXPECT_EQ(stream.push("a\xFF"), "a\xEF\xBF\xBD");
    EXPECT_EQ(stream.push("\xE0\x80z"), "\xEF\xBF\xBD\xEF\xBF\xBDz");  // overlong
    EXPECT_EQ(stream.push("\xC3"), "");
    EXPECT_EQ(stream.finish(), "\xEF\xBF\xBD");
}

TEST(TextStream, KeepsWhiteSpaceWhereItIsToStay) {
    TextStream stream({"stop"}, true);
    EXPECT_EQ(stream.push(" a "), " a ");
    EXPECT_EQ(stream.push("\n st"), "\n ");
    EXPECT_EQ(stream.push("op x"), "");
    EXPECT_EQ(stream.finish(), "");
    EXPECT_EQ(stream.stop_text(), "stop");
}

TEST(TextStream, NamesTheStopTextThatCameFirst) {
    for (const auto& [text, stop] : std::vector<std::pair<std::string, std::string>>{
             {"abcd", "bc"}, {"xcdy", "cd"}, {"abxx", ""}, {"zabcd", "bc"}}) {
        TextStream stream({"cd", "bc", "bcd"});
        stream.push(text);
        stream.finish();
        EXPECT_EQ(stream.stop_text(), stop) << text;
    }
}

TEST(TextStream, LeavesOutWhiteSpaceAtTheEnds) {
    TextStream stream;
    EXPECT_EQ(stream.push("  "), "");
    EXPECT_EQ(stream.push("\n one "), "one");
    EXPECT_EQ(stream.push(" two "), "  two");
    EXPECT_EQ(stream.finish(), "");
}

// The text before the stop text that is complete first, without white space at its ends: the shortest
// beginning that ends with a stop text, less the longest such stop text.
std::string cut_and_trimmed(std::string text, const std::vector<std::string>& stops) {
    for (std::size_t n = 1; n <= text.size(); ++n) {
        std::size_t longest = 0;
        for (const std::string& stop : stops) {
            if (text.substr(0, n).ends_with(stop)) longest = std::max(longest, stop.size());
        }
        if (longest == 0) continue;
        text.resize(n - longest);
        break;
    }
    const std::size_t first = text.find_first_not_of(" \n");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \n") + 1 - first);
}

TEST(TextStream, EndsBeforeAStopTextThatIsSplitOverTokens) {
    TextStream stream({"USER:", "\n\n"});
    EXPECT_EQ(stream.push("Six. U"), "Six.");
    EXPECT_EQ(stream.push("SE"), "");
    EXPECT_FALSE(stream.has_stopped());
    EXPECT_EQ(stream.push("R: more"), "");
    EXPECT_TRUE(stream.has_stopped());
    EXPECT_EQ(stream.push("and more"), "");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TextStream, WhatOnlyLooksLikeAStopTextIsText) {
    TextStream stream({"USER:"});
    EXPECT_EQ(stream.push("The US"), "The");
    EXPECT_EQ(stream.push("A"), " USA");
    EXPECT_EQ(stream.push(" US"), "");
    EXPECT_EQ(stream.finish(), " US");
    EXPECT_FALSE(stream.has_stopped());
}

TEST(TextStream, PiecesJoinToTheTextBeforeTheFirstStopHoweverTheyAreCut) {
    std::mt19937 random(7);
    const std::string letters = "aab \n";
    const auto word = [&](std::size_t longest) {
        std::string text(1 + random() % longest, 'a');
        for (char& letter : text) letter = letters[random() % letters.size()];
        return text;
    };
    std::size_t n_stopped = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::string> stops;
        for (std::size_t i = 0; i < 1 + random() % 3; ++i) stops.push_back(word(4));
        const std::string text = word(24);
        TextStream stream(stops);
        std::string shown;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t n = std::min<std::size_t>(1 + random() % 4, text.size() - at);
            shown += stream.push(text.substr(at, n));
            at += n;
        }
        shown += stream.finish();
        const std::string wanted = cut_and_trimmed(text, stops);
        ASSERT_EQ(shown, wanted) << testing::PrintToString(text) << " " << testing::PrintToString(stops);
        n_stopped += stream.has_stopped() ? 1U : 0U;
    }
    EXPECT_GT(n_stopped, 100U);
    EXPECT_LT(n_stopped, 1900U);
}

}  // namespace
}  // namespace clasp::engine
