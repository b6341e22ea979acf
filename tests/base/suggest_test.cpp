#include "base/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace clasp::base {
namespace {

TEST(EditDistance, CountsLettersToChange) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("bugdet", "budget"), 1U);  // a swap
    EXPECT_EQ(edit_distance("FastV", "fastv"), 0U);
}

TEST(EditDistance, IsSymmetric) {
    const std::vector<std::string_view> words = {"sparsevlm", "fastervlm", "vispruner", "cdpruner", "clasp+"};
    for (const auto a : words) {
        for (const auto b : words) EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
    }
}

TEST(ClosestName, FindsWhatWasMeantAndNothingElse) {
    const std::vector<std::string_view> names = {"clasp",     "clasp+", "fastv",
                                                 "sparsevlm", "pdrop",  "uniform-grid"};
    EXPECT_EQ(closest_name("fastvv", names), "fastv");
    EXPECT_EQ(closest_name("sparcevlm", names), "sparsevlm");
    EXPECT_EQ(closest_name("calsp", names), "clasp");
    EXPECT_EQ(closest_name("uniform", names), "uniform-grid");
    EXPECT_EQ(closest_name("SPARSEVLM", names), "sparsevlm");
    EXPECT_EQ(closest_name("nonsense", names), std::nullopt);
    EXPECT_EQ(closest_name("", names), std::nullopt);
    EXPECT_EQ(closest_name(std::string(1 << 16, 'x'), names), std::nullopt);
}

TEST(ClosestName, OneLetterIsNotTurnedIntoAnother) {
    const std::vector<std::string_view> names = {"m", "b"};
    EXPECT_EQ(closest_name("x", names), std::nullopt);
}

TEST(DidYouMean, IsASentenceOrNothing) {
    const std::vector<std::string_view> names = {"fastv"};
    EXPECT_EQ(did_you_mean("fasv", names), " (did you mean 'fastv'?)");
    EXPECT_EQ(did_you_mean("random", names), "");
}

}  // namespace
}  // namespace clasp::base
