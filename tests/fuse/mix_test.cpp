// Mixes: from scores, from weights, from text; and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "clasp/fuse.h"

namespace clasp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Softmax, IsStableForAnyFiniteScores) {
    for (const double offset : {0.0, 1e300, -1e300}) {
        const std::vector<double> scores = {offset, offset};
        const auto weights = softmax(scores, 1.0);
        ASSERT_TRUE(weights.ok());
        EXPECT_EQ((*weights)[0], 0.5);
    }
    const std::vector<double> apart = {1e308, -1e308};
    EXPECT_EQ((*softmax(apart, 1e3))[0], 1.0);
    EXPECT_EQ((*softmax(apart, 1e3))[1], 0.0);
}

TEST(Softmax, MinusInfinityGivesExactlyNothing) {
    const std::vector<double> scores = {-kInfinity, 0.0, std::log(3.0)};
    const auto weights = *softmax(scores, 1.0);
    EXPECT_EQ(weights[0], 0.0);
    EXPECT_NEAR(weights[1], 0.25, 1e-15);
    EXPECT_NEAR(weights[2], 0.75, 1e-15);
}

TEST(Softmax, Errors) {
    const auto message = [](std::vector<double> scores, double tau) {
        return softmax(scores, tau).status().message();
    };
    EXPECT_EQ(message({}, 1.0), "a softmax needs at least one score above minus infinity");
    EXPECT_EQ(message({-kInfinity}, 1.0), "a softmax needs at least one score above minus infinity");
    EXPECT_EQ(message({1.0, std::nan("")}, 1.0), "score 1 is nan, not a finite number or minus infinity");
    EXPECT_EQ(message({kInfinity}, 1.0), "score 0 is inf, not a finite number or minus infinity");
    EXPECT_EQ(message({1.0}, 0.0), "tau is 0, not a finite number above 0");
    EXPECT_EQ(message({1.0}, -1.0), "tau is -1, not a finite number above 0");
    EXPECT_EQ(message({1.0}, kInfinity), "tau is inf, not a finite number above 0");
}

TEST(MixFromScores, SortsLayersAndLeavesZerosOut) {
    const std::vector<LayerScore> scores = {{9, 0.0}, {2, 0.0}, {4, -kInfinity}, {6, -1e6}};
    const auto mix = mix_from_scores(scores, 1.0);
    ASSERT_TRUE(mix.ok());
    EXPECT_EQ(*mix, (Mix{{2, 0.5}, {9, 0.5}}));
    const std::vector<LayerScore> twice = {{2, 0.0}, {2, 1.0}};
    EXPECT_EQ(mix_from_scores(twice, 1.0).status().message(), "layer 2 is named twice in a mix");
    EXPECT_FALSE(mix_from_scores({}, 1.0).ok());
}

TEST(MixFromWeights, ReproducesWeightsBitForBitAtTauOne) {
    const std::vector<LayerWeight> weights = {{22, 0.5}, {5, 0.2}, {15, 0.3}, {7, 0.0}};
    EXPECT_EQ(*mix_from_weights(weights, 1.0), (Mix{{5, 0.2}, {15, 0.3}, {22, 0.5}}));
}

TEST(MixFromWeights, IsTheSoftmaxOfTheLogarithms) {
    const std::vector<LayerWeight> weights = {{1, 0.2}, {2, 0.3}, {3, 0.5}};
    for (const double tau : {0.3, 1.0, 2.5}) {
        std::vector<double> scores;
        for (const auto& [layer, weight] : weights) scores.push_back(std::log(weight));
        const auto wanted = *softmax(scores, tau);
        const auto mix = *mix_from_weights(weights, tau);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(mix[i].weight, wanted[i], 1e-15);
    }
    const std::vector<LayerWeight> unscaled = {{1, 2.0}, {2, 6.0}};
    EXPECT_NEAR((*mix_from_weights(unscaled, 1.0))[1].weight, 0.75, 1e-15);
}

TEST(MixFromWeights, Errors) {
    const auto message = [](std::vector<LayerWeight> weights, double tau) {
        return mix_from_weights(weights, tau).status().message();
    };
    EXPECT_EQ(message({{3, -0.1}, {4, 1.1}}, 1.0),
              "the weight of layer 3 is -0.1, not a finite number of at least 0");
    EXPECT_EQ(message({{3, std::nan("")}}, 1.0),
              "the weight of layer 3 is nan, not a finite number of at least 0");
    EXPECT_EQ(message({{3, 0.0}}, 1.0), "a mix needs at least one weight above 0");
    EXPECT_EQ(message({}, 1.0), "a mix needs at least one weight above 0");
    EXPECT_EQ(message({{3, 0.5}, {3, 0.5}}, 1.0), "layer 3 is named twice in a mix");
    EXPECT_EQ(message({{3, 1.0}}, 0.0), "tau is 0, not a finite number above 0");
}

TEST(ParseMix, AcceptsTheContractsExample) {
    EXPECT_EQ(*parse_mix("5:0.2,22:0.8"), (Mix{{5, 0.2}, {22, 0.8}}));
    EXPECT_EQ(*parse_mix("22:1"), (Mix{{22, 1.0}}));
}

TEST(ParseMix, Errors) {
    const auto message = [](const char* text) { return parse_mix(text).status().message(); };
    EXPECT_EQ(message(""), "mix piece '' is not LAYER:WEIGHT, such as 22:0.8");
    EXPECT_EQ(message("5"), "mix piece '5' is not LAYER:WEIGHT, such as 22:0.8");
    EXPECT_EQ(message("5:x"), "mix piece '5:x' is not LAYER:WEIGHT, such as 22:0.8");
    EXPECT_EQ(message("-5:1"), "mix piece '-5:1' is not LAYER:WEIGHT, such as 22:0.8");
    EXPECT_EQ(message("5:0.2,22:0.7"), "the weights of mix '5:0.2,22:0.7' sum to 0.9, not 1");
    EXPECT_EQ(message("5:0.5,5:0.5"), "layer 5 is named twice in a mix");
    EXPECT_EQ(message("5:-1,6:2"), "the weight of layer 5 is -1, not a finite number of at least 0");
}

}  // namespace
}  // namespace clasp
