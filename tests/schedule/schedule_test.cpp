// What a budget becomes: published, scaled, solved, forced or nothing, and every refusal.
#include "clasp/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace clasp {
namespace {

ScheduleRequest tokens(std::size_t n_visual, std::size_t n_layers, double budget) {
    ScheduleRequest request;
    request.n_visual = n_visual;
    request.n_layers = n_layers;
    request.budget = {BudgetSpec::Kind::Tokens, budget};
    return request;
}

std::string error_of(const ScheduleRequest& request) {
    const auto result = make_schedule(request);
    return result.ok() ? "no error" : result.status().message();
}

using Stages = std::vector<Stage>;

TEST(Schedule, PublishedCountsAreUsedVerbatim) {
    const struct {
        double budget;
        Stages stages;
        double average;
    } cases[] = {
        {192, {{2, 300}, {6, 200}, {15, 110}}, 188.2},
        {128, {{2, 303}, {6, 110}, {15, 36}}, 123.9},
        {64, {{2, 66}, {6, 30}, {15, 17}}, 61.7},
    };
    for (const auto& c : cases) {
        const auto schedule = make_schedule(tokens(576, 32, c.budget));
        ASSERT_TRUE(schedule.ok()) << schedule.status().message();
        EXPECT_EQ(schedule->source, ScheduleSource::Published);
        EXPECT_EQ(schedule->stages, c.stages);
        EXPECT_NEAR(schedule->average, c.average, 0.05);
        EXPECT_EQ(schedule->n_entering, 576u);
        EXPECT_EQ(schedule->n_final, c.stages.back().keep);
        EXPECT_EQ(schedule->budget, c.budget);
        ASSERT_EQ(schedule->per_layer.size(), 32u);
        EXPECT_EQ(schedule->per_layer[1], 576u);
        EXPECT_EQ(schedule->per_layer[2], c.stages[0].keep);
        EXPECT_EQ(schedule->per_layer[5], c.stages[0].keep);
        EXPECT_EQ(schedule->per_layer[6], c.stages[1].keep);
        EXPECT_EQ(schedule->per_layer[14], c.stages[1].keep);
        EXPECT_EQ(schedule->per_layer[15], c.stages[2].keep);
        EXPECT_EQ(schedule->per_layer[31], c.stages[2].keep);
    }
    EXPECT_EQ(make_schedule(tokens(576, 32, 192))->note,
              "the published counts for a budget of 192 average 188.2 tokens per layer");
}

// The published counts in decoders of other depths: stages where the paper has them, and stages at the same
// share of the depth (halves up), which keeps the averages of 32 layers.
TEST(Schedule, PublishedCountsAverageByDepth) {
    struct Row {
        std::size_t n_layers;
        std::array<double, 3> usual;  // for 192, 128 and 64
        std::vector<std::size_t> scaled_layers;
        std::array<double, 3> scaled;
    };
    const std::vector<Row> table = {
        {24, {214.2, 153.2, 76.6}, {2, 5, 11}, {195.1, 132.9, 73.0}},
        {28, {199.4, 136.5, 68.1}, {2, 5, 13}, {189.4, 124.3, 65.9}},
        {32, {188.2, 123.9, 61.7}, {2, 6, 15}, {188.2, 123.9, 61.7}},
        {36, {179.5, 114.2, 56.8}, {2, 7, 17}, {187.3, 123.6, 58.5}},
        {40, {172.6, 106.3, 52.8}, {3, 8, 19}, {193.4, 130.2, 68.6}},
        {48, {162.1, 94.6, 46.8}, {3, 9, 23}, {189.1, 124.7, 61.9}},
    };
    const std::array<const char*, 3> names = {"paper-192", "paper-128", "paper-64"};
    for (const Row& row : table) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            ScheduleRequest request = tokens(576, row.n_layers, 0);
            request.named = names[i];
            const auto usual = make_schedule(request);
            ASSERT_TRUE(usual.ok()) << usual.status().message();
            EXPECT_NEAR(usual->average, row.usual[i], 0.0501) << row.n_layers << " " << names[i];
            request.stage_layers = row.scaled_layers;
            const auto scaled = make_schedule(request);
            ASSERT_TRUE(scaled.ok()) << scaled.status().message();
            EXPECT_NEAR(scaled->average, row.scaled[i], 0.0501) << row.n_layers << " " << names[i];
        }
    }
}

TEST(Schedule, PercentageMeetsAPublishedBudgetOnlyWhenEqual) {
    ScheduleRequest request = tokens(576, 32, 0);
    request.budget = {BudgetSpec::Kind::Percent, 100.0 / 3.0};
    EXPECT_EQ(make_schedule(request)->source, ScheduleSource::Published);
    request.budget.value = 33.0;
    const auto solved = make_schedule(request);
    EXPECT_EQ(solved->source, ScheduleSource::Solved);
    EXPECT_NEAR(solved->average, 190.08, 1.9);
}

TEST(Schedule, ScalesWithTheVisualTokens) {
    const auto schedule = make_schedule(tokens(2880, 32, 960));
    ASSERT_TRUE(schedule.ok());
    EXPECT_EQ(schedule->source, ScheduleSource::Scaled);
    EXPECT_EQ(schedule->stages, (Stages{{2, 1500}, {6, 1000}, {15, 550}}));
    EXPECT_NEAR(schedule->average, 5 * 188.2, 0.5);
    EXPECT_EQ(schedule->note,
              "the published counts for a budget of 192, scaled to 2880 visual tokens, average 940.9 tokens "
              "per layer");
    // 64 * 1000 / 576 = 111.1: the whole number that a user can type means the same schedule.
    EXPECT_EQ(make_schedule(tokens(1000, 32, 111))->source, ScheduleSource::Scaled);
    EXPECT_EQ(make_schedule(tokens(1000, 32, 112))->source, ScheduleSource::Solved);
    // Where a scaled count would round to nothing the budget is solved, here in vain.
    EXPECT_EQ(
        error_of(tokens(9, 32, 1)),
        "a budget of 1 is impossible: 2 of 32 layers run on all 9 visual tokens and the others on at least "
        "1; the smallest possible budget is 1.5");
}

TEST(Schedule, OtherDepthsAndStagesAreSolved) {
    EXPECT_EQ(make_schedule(tokens(576, 40, 192))->source, ScheduleSource::Solved);
    ScheduleRequest request = tokens(576, 32, 192);
    request.stage_layers = {3, 8};
    const auto schedule = make_schedule(request);
    EXPECT_EQ(schedule->source, ScheduleSource::Solved);
    ASSERT_EQ(schedule->stages.size(), 2u);
    EXPECT_EQ(schedule->stages[0].layer, 3u);
    EXPECT_NEAR(schedule->average, 192, 1.92);
    request.stage_layers = {2, 6, 15};
    EXPECT_EQ(make_schedule(request)->source, ScheduleSource::Published);
}

TEST(Schedule, AShapeGivesTheProportions) {
    for (const double budget : {64.0, 128.0, 192.0, 500.0}) {
        ScheduleRequest r = tokens(576, 16, budget);
        r.stage_layers = {0, 1, 8};
        r.shape = {16, 12, 9};
        const auto schedule = make_schedule(r);
        ASSERT_TRUE(schedule.ok()) << schedule.status().message();
        EXPECT_EQ(schedule->source, ScheduleSource::Solved);
        EXPECT_NEAR(schedule->average, budget, 0.01 * budget);
        const auto& stages = schedule->stages;
        ASSERT_EQ(stages.size(), 3u);
        // Counts that all tokens do not cap keep the proportions but for rounding to whole tokens.
        if (budget == 500.0) continue;
        EXPECT_NEAR(static_cast<double>(stages[1].keep) * 9.0 / 12.0, static_cast<double>(stages[2].keep),
                    2.0);
        EXPECT_NEAR(static_cast<double>(stages[0].keep) * 12.0 / 16.0, static_cast<double>(stages[1].keep),
                    9.0);
    }
    // Published layers, depth and budget: the shape still wins over the published counts.
    ScheduleRequest r = tokens(576, 32, 192);
    r.stage_layers = {2, 6, 15};
    r.shape = {1, 1, 1};
    const auto even = make_schedule(r);
    EXPECT_EQ(even->source, ScheduleSource::Solved);
    EXPECT_LE(even->stages[0].keep - even->stages[2].keep, 5u);
}

TEST(Schedule, NamedSchedulesWorkAtAnyDepth) {
    ScheduleRequest request;
    request.n_visual = 576;
    request.n_layers = 8;
    request.named = "paper-128";
    const auto schedule = make_schedule(request);
    ASSERT_TRUE(schedule.ok());
    EXPECT_EQ(schedule->source, ScheduleSource::Published);
    EXPECT_EQ(schedule->stages, (Stages{{1, 303}, {2, 110}, {4, 36}}));
    EXPECT_EQ(schedule->budget, 128.0);
    request.stage_layers = {1, 3, 5};
    EXPECT_EQ(make_schedule(request)->stages, (Stages{{1, 303}, {3, 110}, {5, 36}}));
    request.stage_layers.clear();
    request.n_visual = 144;
    EXPECT_EQ(make_schedule(request)->source, ScheduleSource::Scaled);
    EXPECT_EQ(make_schedule(request)->stages, (Stages{{1, 76}, {2, 28}, {4, 9}}));
    request.n_visual = 0;
    EXPECT_EQ(make_schedule(request)->source, ScheduleSource::None);
}

TEST(Schedule, NamedScheduleErrors) {
    ScheduleRequest request;
    request.n_visual = 576;
    request.n_layers = 32;
    request.named = "paper-96";
    EXPECT_EQ(error_of(request),
              "there is no schedule 'paper-96' (did you mean 'paper-64'?); there are paper-64, paper-128, "
              "paper-192");
    EXPECT_EQ(make_schedule(request).status().code(), Code::NotFound);
    request.named = "paper-64";
    request.stage_layers = {1, 2};
    EXPECT_EQ(error_of(request), "schedule paper-64 has 3 stages, but 2 stage layers are named");
    request.stage_layers.clear();
    request.n_visual = 16;
    EXPECT_EQ(error_of(request),
              "schedule paper-64 scaled to 16 visual tokens would keep none after its last stage");
    request.n_layers = 3;
    EXPECT_EQ(error_of(request), "a decoder of 3 layers has no room for three stages; name the stage layers");
}

TEST(Schedule, NothingIsDroppedWhenTheBudgetAllowsAll) {
    const auto schedule = make_schedule(tokens(100, 3, 100));
    ASSERT_TRUE(schedule.ok()) << "no stages are needed, so the shallow decoder does not matter";
    EXPECT_EQ(schedule->source, ScheduleSource::None);
    EXPECT_TRUE(schedule->stages.empty());
    EXPECT_EQ(schedule->average, 100.0);
    EXPECT_EQ(schedule->n_final, 100u);
    EXPECT_EQ(schedule->note, "a budget of 100 is not below the 100 visual tokens, so none is dropped");
    ScheduleRequest none = tokens(100, 32, 0);
    none.budget.kind = BudgetSpec::Kind::None;
    EXPECT_EQ(make_schedule(none)->source, ScheduleSource::None);
    EXPECT_EQ(make_schedule(none)->budget, std::nullopt);
    EXPECT_EQ(make_schedule(tokens(0, 32, 10))->source, ScheduleSource::None);
    EXPECT_EQ(make_schedule(tokens(0, 32, 10))->average, 0.0);
}

TEST(Schedule, ForcedStages) {
    ScheduleRequest request = tokens(200, 10, 1);
    request.forced = {{0, 150}, {3, 150}, {9, 1}};
    const auto schedule = make_schedule(request);
    ASSERT_TRUE(schedule.ok()) << schedule.status().message();
    EXPECT_EQ(schedule->source, ScheduleSource::Forced);
    EXPECT_EQ(schedule->stages, request.forced);
    EXPECT_EQ(schedule->n_entering, 150u);
    EXPECT_EQ(schedule->n_final, 1u);
    EXPECT_DOUBLE_EQ(schedule->average, (9 * 150 + 1) / 10.0);
    EXPECT_EQ(schedule->budget, std::nullopt);
    request.forced = {{2, 300}, {4, 100}};  // a count above the live tokens keeps them all
    EXPECT_EQ(make_schedule(request)->per_layer[2], 200u);
    EXPECT_EQ(make_schedule(request)->n_final, 100u);
}

TEST(Schedule, ForcedStageErrors) {
    ScheduleRequest request = tokens(200, 10, 1);
    request.forced = {{3, 50}, {3, 40}};
    EXPECT_EQ(error_of(request), "stage layers must rise, but 3 follows 3");
    request.forced = {{3, 50}, {10, 40}};
    EXPECT_EQ(error_of(request), "stage layer 10 is beyond the last of 10 decoder layers, 9");
    request.forced = {{3, 50}, {4, 60}};
    EXPECT_EQ(error_of(request), "the stage at layer 4 keeps 60 tokens, more than the 50 before it");
    request.forced = {{3, 0}};
    EXPECT_EQ(error_of(request), "the stage at layer 3 keeps no token; the least is 1");
    request.forced = {{3, 5}};
    request.stage_layers = {3};
    EXPECT_EQ(error_of(request), "forced stages cannot be combined with stage layers or a named schedule");
}

TEST(Schedule, RequestErrors) {
    EXPECT_EQ(error_of(tokens(576, 0, 64)), "a decoder of 0 layers is not between 1 and 4096");
    EXPECT_EQ(error_of(tokens(576, 5000, 64)), "a decoder of 5000 layers is not between 1 and 4096");
    EXPECT_EQ(error_of(tokens(20000000, 32, 64)),
              "20000000 visual tokens are more than the limit of 16777216");
    EXPECT_EQ(error_of(tokens(576, 32, 0)), "a budget of 0 tokens is not a finite number above 0");
    EXPECT_EQ(error_of(tokens(576, 32, -3)), "a budget of -3 tokens is not a finite number above 0");
    EXPECT_EQ(error_of(tokens(576, 32, std::numeric_limits<double>::quiet_NaN())),
              "a budget of nan tokens is not a finite number above 0");
    EXPECT_EQ(error_of(tokens(576, 32, std::numeric_limits<double>::infinity())),
              "a budget of inf tokens is not a finite number above 0");
    EXPECT_EQ(error_of(tokens(576, 3, 64)),
              "a decoder of 3 layers has no room for three stages; name the stage layers");
    ScheduleRequest request = tokens(576, 32, 64);
    request.budget = {BudgetSpec::Kind::Percent, 120.0};
    EXPECT_EQ(error_of(request), "a budget of 120% is not above 0 and at most 100%");
    request.budget.kind = BudgetSpec::Kind::Auto;
    EXPECT_EQ(error_of(request), "budget 'auto' has to be decided before a schedule can be made");
    request = tokens(576, 32, 64);
    request.stage_layers = {6, 2};
    EXPECT_EQ(error_of(request), "stage layers must rise, but 2 follows 6");
}

TEST(Schedule, ImpossibleBudgetNamesTheSmallest) {
    EXPECT_EQ(error_of(tokens(576, 32, 20)),
              "a budget of 20 is impossible: 2 of 32 layers run on all 576 visual tokens and the others on "
              "at least "
              "1; the smallest possible budget is 36.94");
    const auto smallest = make_schedule(tokens(576, 32, 36.94));
    ASSERT_TRUE(smallest.ok());
    EXPECT_EQ(smallest->stages, (Stages{{2, 1}, {6, 1}, {15, 1}}));
}

TEST(Schedule, AfterModeCountsTheStageLayerInFull) {
    ScheduleRequest request = tokens(576, 32, 192);
    request.stage_mode = StageMode::After;
    const auto published = make_schedule(request);
    EXPECT_EQ(published->per_layer[2], 576u);
    EXPECT_EQ(published->per_layer[3], 300u);
    EXPECT_NEAR(published->average, (3 * 576 + 4 * 300 + 9 * 200 + 16 * 110) / 32.0, 1e-12);
    request.budget.value = 150;
    EXPECT_NEAR(make_schedule(request)->average, 150, 1.5) << "solved for what layers really process";
    request.budget.value = 40;
    EXPECT_EQ(error_of(request),
              "a budget of 40 is impossible: 3 of 32 layers run on all 576 visual tokens and the others on "
              "at least "
              "1; the smallest possible budget is 54.91");
    request.stage_layers = {2, 31};
    EXPECT_EQ(error_of(request),
              "a stage after layer 31, the last, leaves no layer to run on the kept tokens");
}

TEST(Schedule, DefaultStageLayers) {
    using Layers = std::vector<std::size_t>;
    for (const std::size_t deep : {24u, 28u, 32u, 40u, 80u})
        EXPECT_EQ(*default_stage_layers(deep), (Layers{2, 6, 15}));
    EXPECT_EQ(*default_stage_layers(16), (Layers{1, 3, 8}));
    EXPECT_EQ(*default_stage_layers(8), (Layers{1, 2, 4}));
    EXPECT_EQ(*default_stage_layers(4), (Layers{1, 2, 3}));
    for (std::size_t depth = 4; depth < 24; ++depth) {
        const auto layers = default_stage_layers(depth);
        ASSERT_TRUE(layers.ok());
        EXPECT_GE((*layers)[0], 1u);
        EXPECT_LT((*layers)[0], (*layers)[1]);
        EXPECT_LT((*layers)[1], (*layers)[2]);
        EXPECT_LT((*layers)[2], depth);
    }
    EXPECT_FALSE(default_stage_layers(3).ok());
}

TEST(Schedule, SourceNames) {
    EXPECT_EQ(source_name(ScheduleSource::None), "none");
    EXPECT_EQ(source_name(ScheduleSource::Published), "published");
    EXPECT_EQ(source_name(ScheduleSource::Scaled), "scaled");
    EXPECT_EQ(source_name(ScheduleSource::Solved), "solved");
    EXPECT_EQ(source_name(ScheduleSource::Forced), "forced");
}

}  // namespace
}  // namespace clasp
