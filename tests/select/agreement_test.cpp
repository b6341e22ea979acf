// The selection in Gram space and single precision against the reference in width space and double.
#include <gtest/gtest.h>

#include <iostream>

#include "clasp/select.h"
#include "select/cases.h"
#include "select/reference.h"

namespace clasp {
namespace {

using testing::Case;
using testing::Kind;
using testing::make_case;
using testing::reference_select;
using testing::ReferencePlan;

// Similarities in single precision carry errors of about 1e-6; a decision closer than this is a tie.
constexpr double kFloatTie = 1e-5;

struct Tally {
    int cases = 0;
    int well_separated = 0;
    int different = 0;
};

Tally compare(Kind kind, std::size_t max_rows, int n_cases, unsigned seed) {
    std::mt19937 random(seed);
    Tally tally;
    SelectWorkspace workspace;
    SelectPlan plan;
    for (int i = 0; i < n_cases; ++i) {
        const Case sample = make_case(kind, max_rows, random);
        const Status status = select(sample.input(), sample.options, workspace, nullptr, plan);
        EXPECT_TRUE(status.ok()) << status.message();
        const ReferencePlan expected =
            reference_select(sample.features, sample.width, sample.live, sample.scores, sample.options);
        ++tally.cases;
        if (expected.gap >= kFloatTie) ++tally.well_separated;
        EXPECT_EQ(plan.pivots, expected.pivots);
        if (plan.kept != expected.kept) {
            ++tally.different;
            EXPECT_LT(expected.gap, kFloatTie) << "case " << i << " differs without a tie";
            continue;
        }
        if (expected.gap < kFloatTie) continue;
        EXPECT_EQ(plan.coverage, expected.coverage);
        EXPECT_EQ(plan.seeds, expected.seeds);
        EXPECT_EQ(plan.objective.size(), expected.objective.size());
        for (std::size_t r = 0; r < std::min(plan.objective.size(), expected.objective.size()); ++r) {
            EXPECT_NEAR(plan.objective[r], expected.objective[r], 1e-4);
        }
    }
    std::cout << tally.cases << " cases, " << tally.well_separated << " well separated, " << tally.different
              << " different (all float ties)\n";
    return tally;
}

TEST(Agreement, TenThousandRandomInputs) {
    const Tally tally = compare(Kind::Random, 40, 10000, 1);
    EXPECT_LE(tally.different * 100, tally.cases);
    EXPECT_GE(tally.well_separated * 2, tally.cases);
}

TEST(Agreement, LargerRandomInputs) {
    const Tally tally = compare(Kind::Random, 160, 150, 2);
    EXPECT_LE(tally.different * 20, tally.cases);
}

TEST(Agreement, ClusteredInputs) {
    const Tally tally = compare(Kind::Clustered, 60, 2000, 3);
    EXPECT_LE(tally.different * 50, tally.cases);
    EXPECT_GE(tally.well_separated * 2, tally.cases);
}

TEST(Agreement, DuplicatedInputsDifferOnlyByTies) {
    compare(Kind::Duplicated, 40, 2000, 4);
}

TEST(Agreement, DegenerateInputsDifferOnlyByTies) {
    compare(Kind::Degenerate, 40, 2000, 5);
}

}  // namespace
}  // namespace clasp
