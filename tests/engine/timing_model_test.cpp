#include "engine/timing_model.h"

#include <gtest/gtest.h>

namespace clasp::engine {
namespace {

TEST(TimingModel, FindsALineThatIsThere) {
    TimingModel model;
    EXPECT_FALSE(model.figures());
    for (const double tokens : {60.0, 100.0, 250.0, 616.0, 130.0})
        model.learn_reading(tokens, 40.0 + 2.5 * tokens);
    const auto figures = model.figures();
    ASSERT_TRUE(figures);
    EXPECT_NEAR(figures->per_prompt, 40.0, 1e-6);
    EXPECT_NEAR(figures->per_token, 2.5, 1e-9);
    EXPECT_NEAR(figures->reading(616.0), 1580.0, 1e-6);
    EXPECT_EQ(figures->n_prompts, 5U);
    EXPECT_FALSE(figures->encode);
}

TEST(TimingModel, OneLengthGivesTimePerToken) {
    TimingModel model;
    for (int i = 0; i < 4; ++i) model.learn_reading(100.0, 300.0);
    EXPECT_NEAR(model.figures()->per_token, 3.0, 1e-9);
    EXPECT_EQ(model.figures()->per_prompt, 0.0);
    model.learn_reading(0.0, 10.0);
    model.learn_reading(10.0, 0.0);
    EXPECT_EQ(model.figures()->n_prompts, 4U) << "nothing to learn from";
}

TEST(TimingModel, ForgetsHowFastTheMachineWas) {
    TimingModel model;
    for (int i = 0; i < 50; ++i) model.learn_reading(i % 2 == 0 ? 100.0 : 400.0, i % 2 == 0 ? 100.0 : 400.0);
    for (int i = 0; i < 50; ++i) model.learn_reading(i % 2 == 0 ? 100.0 : 400.0, i % 2 == 0 ? 200.0 : 800.0);
    EXPECT_NEAR(model.figures()->reading(200.0), 400.0, 10.0);
    for (int i = 0; i < 100; ++i) model.learn_encoding(i < 50 ? 10.0 : 20.0);
    EXPECT_NEAR(*model.figures()->encode, 20.0, 0.5);
}

TEST(TimingModel, NeverPredictsLessThanNothing) {
    TimingModel model;
    model.learn_reading(100.0, 100.0);
    model.learn_reading(200.0, 500.0);  // a line through both would begin below zero
    const auto figures = model.figures();
    EXPECT_EQ(figures->per_prompt, 0.0);
    EXPECT_GT(figures->per_token, 0.0);
}

TEST(TimingModel, CountsWhatWasComputed) {
    Answer answer;
    answer.tokens.text = 60;
    answer.tokens.average = 64.0;
    EXPECT_DOUBLE_EQ(tokens_computed(answer, 32), 124.0);
    answer.history.n_tokens = 35;
    EXPECT_DOUBLE_EQ(tokens_computed(answer, 32), 89.0);
    // The picture's 576 rows, and no more, in 2 of 32 layers.
    answer.history.n_front_tokens = 35 + 576;
    answer.stages.resize(1);
    answer.stages[0].layer = 2;
    EXPECT_DOUBLE_EQ(tokens_computed(answer, 32), 89.0 - 36.0);
}

}  // namespace
}  // namespace clasp::engine
