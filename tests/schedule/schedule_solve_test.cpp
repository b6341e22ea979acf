// The solver over a grid of sizes: on budget, never rising, and never worse than an exhaustive search.
#include "select/schedule_solve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "clasp/schedule.h"

namespace clasp {
namespace {

// The nearest average that any never-rising whole counts of three stages reach.
double nearest_possible(const scheduling::SolveProblem& p) {
    double best = 1e300;
    for (std::size_t a = 1; a <= p.n_visual; ++a) {
        for (std::size_t b = 1; b <= a; ++b) {
            for (std::size_t c = 1; c <= b; ++c) {
                const double average = p.average({a, b, c});
                if (std::abs(average - p.budget) < std::abs(best - p.budget)) best = average;
            }
        }
    }
    return best;
}

TEST(ScheduleSolver, MeetsTheBudgetOverAGridOfSizes) {
    std::size_t n_solved = 0;
    for (const std::size_t n_visual :
         {16u, 49u, 64u, 100u, 144u, 196u, 256u, 576u, 729u, 1024u, 2880u, 10000u}) {
        for (const std::size_t n_layers : {4u, 6u, 8u, 12u, 16u, 22u, 24u, 28u, 32u, 36u, 40u, 64u, 80u}) {
            for (int percent = 1; percent < 100; percent += 3) {
                ScheduleRequest request;
                request.n_visual = n_visual;
                request.n_layers = n_layers;
                request.budget = {BudgetSpec::Kind::Tokens,
                                  std::ceil(0.01 * percent * static_cast<double>(n_visual))};
                const auto schedule = make_schedule(request);
                const double first = static_cast<double>((*default_stage_layers(n_layers))[0]);
                const double smallest =
                    (first * static_cast<double>(n_visual) + static_cast<double>(n_layers) - first) /
                    static_cast<double>(n_layers);
                if (request.budget.value < smallest) {
                    ASSERT_FALSE(schedule.ok());
                    ASSERT_NE(schedule.status().message().find("the smallest possible budget is"),
                              std::string::npos);
                    continue;
                }
                ASSERT_TRUE(schedule.ok()) << schedule.status().message();
                if (schedule->source != ScheduleSource::Solved) continue;
                ++n_solved;
                if (schedule->note.empty()) {
                    ASSERT_NEAR(schedule->average, request.budget.value, 0.01 * request.budget.value)
                        << n_visual << " tokens, " << n_layers << " layers, budget " << request.budget.value;
                } else {
                    ASSERT_LT(n_visual, 100u) << schedule->note;
                }
                std::size_t before = n_visual;
                for (const Stage& stage : schedule->stages) {
                    ASSERT_GE(stage.keep, 1u);
                    ASSERT_LE(stage.keep, before);
                    before = stage.keep;
                }
            }
        }
    }
    EXPECT_GT(n_solved, 4000u);
}

TEST(ScheduleSolver, IsNeverFartherThanTheToleranceOrTheBestPossible) {
    for (std::size_t n_visual = 2; n_visual <= 30; n_visual += 3) {
        for (const auto& spans :
             std::vector<std::vector<std::size_t>>{{4, 9, 17}, {1, 2, 4}, {4, 9, 13}, {7, 7, 7}}) {
            scheduling::SolveProblem problem;
            problem.n_visual = n_visual;
            problem.n_full_layers = 2;
            problem.spans = spans;
            for (double budget = problem.smallest_budget(); budget < static_cast<double>(n_visual);
                 budget += 0.37) {
                problem.budget = budget;
                const double average = problem.average(scheduling::solve_counts(problem));
                const double best = nearest_possible(problem);
                ASSERT_LE(std::abs(average - budget),
                          std::max(scheduling::kSolveTolerance * budget, std::abs(best - budget)) + 1e-9)
                    << n_visual << " tokens, budget " << budget;
            }
        }
    }
}

TEST(ScheduleSolver, SaysWhenWholeTokensCannotMeetTheBudget) {
    ScheduleRequest request;
    request.n_visual = 4;
    request.n_layers = 32;
    request.stage_layers = {2};
    request.budget = {BudgetSpec::Kind::Tokens, 1.5};
    const auto schedule = make_schedule(request);
    ASSERT_TRUE(schedule.ok());
    EXPECT_EQ(schedule->note, "whole tokens allow no average nearer to 1.5 than 1.19");
}

TEST(ScheduleSolver, ShapePassesThroughThePublishedSchedules) {
    const auto shape = scheduling::keep_shape(192.0 / 576.0, 3);
    EXPECT_NEAR(shape[0], 300.0 / 576.0, 1e-12);
    EXPECT_NEAR(shape[1], 200.0 / 576.0, 1e-12);
    EXPECT_NEAR(shape[2], 110.0 / 576.0, 1e-12);
    EXPECT_NEAR(scheduling::keep_shape(64.0 / 576.0, 3)[2], 17.0 / 576.0, 1e-12);
    EXPECT_NEAR(scheduling::keep_shape(128.0 / 576.0, 2)[0], 303.0 / 576.0, 1e-12);
    EXPECT_NEAR(scheduling::keep_shape(128.0 / 576.0, 2)[1], 36.0 / 576.0, 1e-12);
    EXPECT_NEAR(scheduling::keep_shape(128.0 / 576.0, 1)[0], 110.0 / 576.0, 1e-12);
    EXPECT_NEAR(scheduling::keep_shape(1.0, 3)[2], 1.0, 1e-12);
}

TEST(ScheduleSolver, ShapeNeverRisesAndNeverJumps) {
    std::vector<double> before = scheduling::keep_shape(0.0, 3);
    for (int i = 1; i <= 1000; ++i) {
        const auto shape = scheduling::keep_shape(i / 1000.0, 3);
        EXPECT_GE(shape[0], shape[1]);
        EXPECT_GE(shape[1], shape[2]);
        for (std::size_t s = 0; s < 3; ++s) EXPECT_LT(std::abs(shape[s] - before[s]), 0.005);
        before = shape;
    }
}

TEST(ScheduleSolver, ManyStagesStayOrderedAndOnBudget) {
    ScheduleRequest request;
    request.n_visual = 576;
    request.n_layers = 32;
    request.budget = {BudgetSpec::Kind::Tokens, 150};
    for (std::size_t layer = 1; layer < 31; layer += 3) request.stage_layers.push_back(layer);
    const auto schedule = make_schedule(request);
    ASSERT_TRUE(schedule.ok());
    EXPECT_NEAR(schedule->average, 150, 1.5);
    for (std::size_t s = 1; s < schedule->stages.size(); ++s) {
        EXPECT_LE(schedule->stages[s].keep, schedule->stages[s - 1].keep);
    }
}

}  // namespace
}  // namespace clasp
