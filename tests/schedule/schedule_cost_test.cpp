// Floating-point operations against sums done by hand.
#include <gtest/gtest.h>

#include "clasp/schedule.h"

namespace clasp {
namespace {

DecoderShape small_shape() {
    DecoderShape shape;
    shape.n_layers = 2;
    shape.width = 8;
    shape.ffn_width = 16;
    shape.n_heads = 4;
    shape.n_kv_heads = 2;
    shape.head_width = 2;
    shape.vocab = 10;
    return shape;
}

Schedule two_layers() {
    ScheduleRequest request;
    request.n_visual = 5;
    request.n_layers = 2;
    request.forced = {{1, 2}};
    return *make_schedule(request);
}

TEST(ScheduleCost, PrefillByHand) {
    const auto cost = schedule_cost(two_layers(), small_shape(), 5, 1, 0);
    ASSERT_TRUE(cost.ok());
    // Layers process 6 and 3 tokens. Per token: q and o 8x8 each, k and v 8x4 each: 192 multiply-adds.
    EXPECT_EQ(cost->prefill.projections, 2.0 * 192 * (6 + 3));
    // Scores and values: 2 n^2 (4 heads of 2) multiply-adds.
    EXPECT_EQ(cost->prefill.attention, 2.0 * 2 * 8 * (36 + 9));
    // Gate, up and down: 3 x 8 x 16.
    EXPECT_EQ(cost->prefill.ffn, 2.0 * 384 * (6 + 3));
    EXPECT_EQ(cost->prefill.head, 2.0 * 8 * 10);
    EXPECT_EQ(cost->prefill.total(), 3456 + 1440 + 6912 + 160);
    EXPECT_EQ(cost->prefill_unpruned.total(), 2.0 * (192 * 12 + 2 * 8 * 72 + 384 * 12 + 80));
    EXPECT_DOUBLE_EQ(cost->flops_ratio, 11968.0 / 16288.0);
    EXPECT_EQ(cost->decode.total(), 0.0);
}

TEST(ScheduleCost, DecodeByHand) {
    const auto cost = schedule_cost(two_layers(), small_shape(), 5, 1, 2);
    // Two steps see 7 then 8 keys in layer 0, 4 then 5 in layer 1.
    EXPECT_EQ(cost->decode.projections, 2.0 * 192 * 2 * 2);
    EXPECT_EQ(cost->decode.attention, 2.0 * 2 * 8 * (7 + 8 + 4 + 5));
    EXPECT_EQ(cost->decode.ffn, 2.0 * 384 * 2 * 2);
    EXPECT_EQ(cost->decode.head, 2.0 * 80 * 2);
    EXPECT_EQ(cost->decode_unpruned.attention, 2.0 * 2 * 8 * 2 * (7 + 8));
}

TEST(ScheduleCost, PlainFfnHasTwoMatrices) {
    DecoderShape shape = small_shape();
    shape.has_gated_ffn = false;
    EXPECT_EQ(schedule_cost(two_layers(), shape, 5, 1, 0)->prefill.ffn, 2.0 * 256 * 9);
}

TEST(ScheduleCost, PublishedFigureOfTheSevenBillionDecoder) {
    ScheduleRequest request;
    request.n_visual = 576;
    request.n_layers = 32;
    request.budget.kind = BudgetSpec::Kind::None;
    const auto cost = schedule_cost(*make_schedule(request), default_decoder_shape(), 576, 0, 0);
    // The literature's 4 n d^2 + 2 n^2 d + 3 n d m counts multiply-adds and no head: 3.82 T.
    EXPECT_NEAR((cost->prefill.total() - cost->prefill.head) / 2.0, 3.82e12, 0.005e12);
    EXPECT_EQ(cost->flops_ratio, 1.0);
}

TEST(ScheduleCost, RatioFallsWithTheBudget) {
    ScheduleRequest request;
    request.n_visual = 576;
    request.n_layers = 32;
    double before = 1.0;
    for (const double budget : {300.0, 192.0, 128.0, 64.0}) {
        request.budget = {BudgetSpec::Kind::Tokens, budget};
        const auto cost = schedule_cost(*make_schedule(request), default_decoder_shape(), 576, 0, 0);
        EXPECT_LT(cost->flops_ratio, before);
        EXPECT_NEAR(cost->flops_ratio, budget / 576, 0.04) << "cost is nearly linear in the average";
        before = cost->flops_ratio;
    }
}

TEST(ScheduleCost, Errors) {
    DecoderShape shape = small_shape();
    shape.n_layers = 3;
    EXPECT_EQ(schedule_cost(two_layers(), shape, 5, 1, 0).status().message(),
              "a schedule for 2 layers does not fit a decoder of 3");
    shape = small_shape();
    shape.width = 0;
    EXPECT_EQ(
        schedule_cost(two_layers(), shape, 5, 1, 0).status().message(),
        "a decoder shape needs layers, width, FFN width, heads, key-value heads and head width above 0");
    shape = small_shape();
    shape.n_kv_heads = 3;
    EXPECT_EQ(schedule_cost(two_layers(), shape, 5, 1, 0).status().message(),
              "4 heads cannot share 3 key-value heads evenly");
    ScheduleRequest empty;
    empty.n_layers = 2;
    EXPECT_EQ(schedule_cost(*make_schedule(empty), small_shape(), 0, 0, 0)->flops_ratio, 1.0);
}

}  // namespace
}  // namespace clasp
