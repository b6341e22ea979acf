#include "engine/stage_chooser.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace clasp::engine {
namespace {

TEST(ShareInProportion, GivesWholeItemsByLargestRemainder) {
    const std::vector<std::size_t> weights = {576, 576, 288};
    const std::vector<std::size_t> caps = {576, 576, 288};
    EXPECT_EQ(share_in_proportion(100, weights, caps), (std::vector<std::size_t>{40, 40, 20}));
    EXPECT_EQ(share_in_proportion(101, weights, caps), (std::vector<std::size_t>{41, 40, 20}));
    EXPECT_EQ(share_in_proportion(1, weights, caps), (std::vector<std::size_t>{1, 0, 0}));
}

TEST(ShareInProportion, NeverGoesAboveACapAndAlwaysGivesAll) {
    std::mt19937 engine(4);
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::size_t> weights(1 + engine() % 5);
        std::vector<std::size_t> caps(weights.size());
        for (std::size_t i = 0; i < weights.size(); ++i) {
            weights[i] = 1 + engine() % 50;
            caps[i] = engine() % (weights[i] + 1);
        }
        const std::size_t sum = std::accumulate(caps.begin(), caps.end(), std::size_t{0});
        const std::size_t total = sum == 0 ? 0 : engine() % (sum + 1);
        const auto shares = share_in_proportion(total, weights, caps);
        EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::size_t{0}), total);
        for (std::size_t i = 0; i < caps.size(); ++i) EXPECT_LE(shares[i], caps[i]);
    }
}

// Two images of six tokens each whose Gram matrices are the identity but for one pair of twins.
class TwoImages : public testing::Test {
   protected:
    void SetUp() override {
        for (std::size_t i = 0; i < kTokens; ++i) gram_[i * kTokens + i] = 1.0F;
        gram_[0 * kTokens + 1] = gram_[1 * kTokens + 0] = 1.0F;
        for (TokenIndex t = 0; t < 2 * kTokens; ++t) {
            live_.push_back(t);
            scores_.push_back(static_cast<float>(t % kTokens == 0 ? 9 : t % kTokens));
        }
    }

    StageChooser chooser(std::vector<std::size_t> keep, MassRule mass,
                         std::vector<TokenIndex> step_ends = {}) const {
        StageChooserOptions options;
        options.run = run_.get();
        options.mass = mass;
        options.keep = std::move(keep);
        const GramView view = {gram_.data(), kTokens, kTokens};
        const ChooserImage image = {.n_tokens = kTokens, .gram = view, .step_ends = std::move(step_ends)};
        return {options, {image, image}, nullptr};
    }

    StageView view(std::size_t stage) const {
        StageView view;
        view.layer = static_cast<std::int32_t>(stage) + 1;
        view.stage = stage;
        view.live = live_;
        view.seen.scores = methods::SignalTable(scores_, scores_.size());
        return view;
    }

    static constexpr std::size_t kTokens = 6;
    std::unique_ptr<methods::MethodRun> run_ = (*methods::find_method("attention"))->start({}).value();
    std::vector<float> gram_ = std::vector<float>(kTokens * kTokens, 0.0F);
    std::vector<TokenIndex> live_;
    std::vector<float> scores_;
};

TEST_F(TwoImages, ShareAStageAndKeepTheirOwnIndices) {
    StageChooser both = chooser({4}, MassRule::None);
    const auto choice = both.choose(view(0));
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(choice->kept, (std::vector<TokenIndex>{0, 5, 6, 11}));
    EXPECT_TRUE(choice->masses.empty());
    ASSERT_EQ(both.reports().size(), 1U);
    EXPECT_EQ(both.reports()[0].layer, 1U);
    EXPECT_EQ(both.reports()[0].pivots, choice->kept);
}

// Clips of three steps of two tokens each: every step keeps one, whatever the scores of others.
TEST_F(TwoImages, StepsKeepTheirShares) {
    StageChooser both = chooser({6}, MassRule::Nearest, {2, 4, 6});
    const auto choice = both.choose(view(0));
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(choice->kept, (std::vector<TokenIndex>{0, 3, 5, 6, 9, 11}));
    EXPECT_EQ(choice->masses, std::vector<float>(6, 2.0F)) << "masses stay in their step";
    live_ = choice->kept;
    scores_ = {1, 2, 3, 4, 5, 6};
    StageChooser again = chooser({6, 3}, MassRule::None, {2, 4, 6});
    EXPECT_EQ(again.choose(view(1))->kept.size(), 3U);
}

TEST_F(TwoImages, MassesStayInTheirImageAndAddUp) {
    StageChooser both = chooser({4, 2}, MassRule::Nearest);
    const auto first = both.choose(view(0));
    ASSERT_TRUE(first.ok());
    ASSERT_EQ(first->masses.size(), 4U);
    EXPECT_FLOAT_EQ(first->masses[0] + first->masses[1], 6.0F);
    EXPECT_FLOAT_EQ(first->masses[2] + first->masses[3], 6.0F);
    live_ = first->kept;
    scores_ = {9, 5, 9, 5};
    const auto second = both.choose(view(1));
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->kept, (std::vector<TokenIndex>{0, 6}));
    EXPECT_EQ(second->masses, (std::vector<float>{6.0F, 6.0F}));
}

TEST_F(TwoImages, AStageThatKeepsAllChangesNothing) {
    StageChooser both = chooser({12}, MassRule::Nearest);
    const auto choice = both.choose(view(0));
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(choice->kept, live_);
    for (const float mass : choice->masses) EXPECT_EQ(mass, 1.0F);
    EXPECT_TRUE(both.reports()[0].pivots.empty());
}

}  // namespace
}  // namespace clasp::engine
