// Methods that act inside the decoder: the worked examples of their specification and, where the algorithm is
// not one line, a slow reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "method_harness.h"
#include "methods/btp.h"
#include "methods/dart.h"
#include "methods/density_peaks.h"
#include "methods/mustdrop.h"
#include "methods/raters.h"
#include "methods/sparsevlm.h"

namespace clasp::methods {
namespace {

using test::FakeModel;
using test::make_setup;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const FakeModel kLlava = {.grid = {24, 24}};

Program program_of(std::string_view name, double tokens, BudgetKind kind = BudgetKind::Average,
                   const std::vector<std::string>& options = {}) {
    const Method& method = **find_method(name);
    auto run = method.start(make_setup(method, kLlava, tokens, kind, options));
    EXPECT_TRUE(run.ok()) << run.status().message();
    return run.ok() ? (*run)->program() : Program();
}

std::string refusal_of(std::string_view name, double tokens, BudgetKind kind = BudgetKind::Average,
                       const std::vector<std::string>& options = {}) {
    const Method& method = **find_method(name);
    return method.start(make_setup(method, kLlava, tokens, kind, options)).status().message();
}

std::vector<std::size_t> keeps(const Program& program) {
    std::vector<std::size_t> counts;
    for (const DecoderStage& stage : program.stages) counts.push_back(stage.keep);
    return counts;
}

std::vector<std::size_t> layers(const Program& program) {
    std::vector<std::size_t> result;
    for (const DecoderStage& stage : program.stages) result.push_back(stage.layer);
    return result;
}

std::vector<float> random_rows(std::size_t n, std::size_t width, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> rows(n * width);
    for (float& value : rows) value = normal(engine);
    return rows;
}

// Unit vectors at angles in degrees, and their cosines.
std::vector<float> at_angles(const std::vector<double>& degrees) {
    std::vector<float> rows;
    for (const double angle : degrees) {
        rows.push_back(static_cast<float>(std::cos(angle * M_PI / 180.0)));
        rows.push_back(static_cast<float>(std::sin(angle * M_PI / 180.0)));
    }
    return rows;
}

TEST(Fastv, PrunesTheOutputOfTheBlockThatItLooksAt) {
    EXPECT_THAT(keeps(program_of("fastv", 192)), ElementsAre(166));
    EXPECT_THAT(keeps(program_of("fastv", 64)), ElementsAre(30));
    EXPECT_THAT(keeps(program_of("fastv", 192, BudgetKind::Final)), ElementsAre(192));
    EXPECT_THAT(keeps(program_of("fastv", 64, BudgetKind::Average, {"layer=3"})), ElementsAre(11));
    const Program program = program_of("fastv", 192);
    EXPECT_THAT(layers(program), ElementsAre(1));
    EXPECT_EQ(program.stages[0].mode, StageMode::After);
    EXPECT_EQ(program.positions, PositionMode::Keep);
    EXPECT_THAT(refusal_of("fastv", 30), HasSubstr("smallest possible is 36.94"));
}

TEST(Fastv, AsksTheLastTokenAsTheCodeDoesOrAllAsThePaperSays) {
    EXPECT_EQ(program_of("fastv", 192).stages[0].needs.reference, Reference::Last);
    const Program paper = program_of("fastv", 192, BudgetKind::Average, {"faithful=paper"});
    EXPECT_EQ(paper.stages[0].needs.reference, Reference::All);
    EXPECT_THAT(keeps(paper), ElementsAre(166));
}

TEST(Pdrop, HasTheCountsOfItsAuthorsAndTheFloorOfItsLayers) {
    EXPECT_THAT(keeps(program_of("pdrop", 192)), ElementsAre(312, 156, 78));
    EXPECT_THAT(keeps(program_of("pdrop", 270, BudgetKind::Average, {"layers=published"})),
                ElementsAre(288, 144, 72));
    EXPECT_THAT(layers(program_of("pdrop", 192)), ElementsAre(2, 10, 20));
    EXPECT_THAT(refusal_of("pdrop", 128, BudgetKind::Average, {"layers=published"}),
                HasSubstr("its first 8 of 32 layers process all 576"));
    EXPECT_EQ(program_of("pdrop", 192).positions, PositionMode::Compact);
}

TEST(Vtw, WithdrawsWhereTheAverageMeetsTheBudget) {
    EXPECT_THAT(layers(program_of("vtw", 192)), ElementsAre(11));
    EXPECT_THAT(layers(program_of("vtw", 270)), ElementsAre(15));
    EXPECT_THAT(keeps(program_of("vtw", 270)), ElementsAre(0));
    EXPECT_THAT(refusal_of("vtw", 8), HasSubstr("smallest possible is 18"));
    EXPECT_TRUE(program_of("vtw", 270).notes.empty());
    EXPECT_THAT(
        program_of("vtw", 64).notes,
        ElementsAre("vtw takes all tokens away at one layer, so averages are multiples of 18: 72 is the "
                    "nearest to 64"));
    EXPECT_THAT(refusal_of("vtw", 100, BudgetKind::Final), HasSubstr("keeps none in the end"));
}

TEST(Dart, CountsAsItsAuthorsDoWhenAsked) {
    const std::vector<std::string> code = {"count=code"};
    EXPECT_THAT(keeps(program_of("dart", 192, BudgetKind::Final, code)), ElementsAre(196));
    EXPECT_THAT(keeps(program_of("dart", 128, BudgetKind::Final, code)), ElementsAre(132));
    EXPECT_THAT(keeps(program_of("dart", 64, BudgetKind::Final, code)), ElementsAre(68));
    EXPECT_THAT(keeps(program_of("dart", 192, BudgetKind::Final)), ElementsAre(192));
}

// Straight from the description: every pivot in turn sorts all that is left.
std::set<TokenIndex> dart_reference(const DartInput& input, std::size_t keep) {
    const auto cosine = [](const float* a, const float* b, std::size_t width) {
        double product = 0.0;
        double first = 0.0;
        double second = 0.0;
        for (std::size_t i = 0; i < width; ++i) {
            product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
            first += static_cast<double>(a[i]) * static_cast<double>(a[i]);
            second += static_cast<double>(b[i]) * static_cast<double>(b[i]);
        }
        return product / std::sqrt(first * second);
    };
    const auto by_norm = [](std::span<const float> norms) {
        std::vector<TokenIndex> order(norms.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](TokenIndex a, TokenIndex b) { return norms[a] > norms[b]; });
        order.resize(4);
        return order;
    };
    const std::size_t width = input.hidden.width;
    std::vector<const float*> pivots;
    std::set<TokenIndex> kept;
    for (const TokenIndex i : by_norm(input.key_norms)) {
        pivots.push_back(input.hidden.data + i * width);
        kept.insert(i);
    }
    for (const TokenIndex i : by_norm(input.text_key_norms)) {
        pivots.push_back(input.text_hidden.data + i * width);
    }
    const std::size_t wanted = keep - 4;
    for (std::size_t p = 0; p < 8; ++p) {
        std::vector<std::pair<double, TokenIndex>> left;
        for (TokenIndex i = 0; i < input.hidden.rows; ++i) {
            if (!kept.contains(i))
                left.emplace_back(cosine(pivots[p], input.hidden.data + i * width, width), i);
        }
        std::sort(left.begin(), left.end());
        const std::size_t share = wanted / 8 + (p < wanted % 8 ? 1 : 0);
        for (std::size_t k = 0; k < share; ++k) kept.insert(left[k].second);
    }
    return kept;
}

TEST(Dart, AgreesWithItsReference) {
    for (unsigned seed = 1; seed < 30; ++seed) {
        const std::vector<float> hidden = random_rows(60, 12, seed);
        const std::vector<float> text = random_rows(9, 12, seed + 100);
        const std::vector<float> norms = random_rows(1, 60, seed + 200);
        const std::vector<float> text_norms = random_rows(1, 9, seed + 300);
        const DartInput input = {norms, {hidden.data(), 60, 12, 12}, text_norms, {text.data(), 9, 12, 12}};
        const std::size_t keep = 10 + seed;
        const DartChoice choice = choose_dart(input, keep, 4);
        std::set<TokenIndex> kept(choice.pivots.begin(), choice.pivots.end());
        kept.insert(choice.others.begin(), choice.others.end());
        EXPECT_EQ(kept.size(), keep);
        EXPECT_EQ(kept, dart_reference(input, keep));
    }
}

TEST(Dart, WorksWithoutTextAndWithFewerTokensThanPivots) {
    const std::vector<float> hidden = random_rows(10, 4, 1);
    const std::vector<float> norms = random_rows(1, 10, 2);
    const DartInput input = {norms, {hidden.data(), 10, 4, 4}, {}, {}};
    EXPECT_EQ(choose_dart(input, 7, 4).others.size(), 3U);
    EXPECT_EQ(choose_dart(input, 2, 4).pivots.size(), 2U);
}

TEST(Btp, RebalancesAsInTheWorkedExample) {
    const std::vector<float> scores = {.1F, .9F, .2F, .3F, .95F, .8F, .7F, .6F};
    EXPECT_THAT(rebalanced(scores, 3, 5, 4), ElementsAre(1, 4, 5));
}

TEST(Btp, DiverseTokensAreThoseOfTheWorkedExample) {
    const std::vector<float> rows = at_angles({0, 5, 40, 90, 100});
    std::vector<float> cosines(25);
    SelectWorkspace workspace;
    ASSERT_TRUE(gram({rows.data(), 5, 2, 2}, workspace, nullptr, cosines.data(), 5).ok());
    const GramView view = {cosines.data(), 5, 5};
    EXPECT_THAT(diverse(view, {}, 1), ElementsAre(2));
    EXPECT_THAT(diverse(view, {}, 2), ElementsAre(2, 4));
    EXPECT_THAT(diverse(view, {}, 3), ElementsAre(0, 2, 4));
    EXPECT_THAT(diverse(view, {0}, 1), ElementsAre(0, 4));
    EXPECT_THAT(diverse(view, {}, 9), ElementsAre(0, 1, 2, 3, 4));
}

TEST(Btp, SpreadsOverTheGridFromTheFirstToken) {
    std::vector<TokenIndex> patches(9);
    std::iota(patches.begin(), patches.end(), 0U);
    EXPECT_THAT(spread_out(patches, {3, 3}, 2), ElementsAre(0, 8));
    EXPECT_THAT(spread_out(patches, {3, 3}, 4), ElementsAre(0, 2, 4, 8));
}

TEST(Btp, HasThePublishedCountsAt128AndScalesThemElsewhere) {
    EXPECT_THAT(keeps(program_of("btp", 128)), ElementsAre(288, 144, 48, 0));
    EXPECT_THAT(keeps(program_of("btp", 192)), ElementsAre(530, 265, 88, 0));
    EXPECT_THAT(layers(program_of("btp", 128)), ElementsAre(2, 5, 13, 21));
    EXPECT_EQ(program_of("btp", 128).stages[0].mode, StageMode::After);
}

TEST(Btp, BeginsEarlierWhereTheBudgetWantsIt) {
    EXPECT_THAT(keeps(program_of("btp", 64)), ElementsAre(38, 19, 6, 0));
    const Program early = program_of("btp", 40);
    EXPECT_THAT(layers(early), ElementsAre(1, 5, 13, 21));
    ASSERT_EQ(early.notes.size(), 1U);
    EXPECT_EQ(early.notes[0],
              "btp drops tokens from layer 2 on instead of 3, because the budget cannot be met otherwise");
    EXPECT_TRUE(program_of("btp", 64).notes.empty());
}

TEST(Btp, KeepsExactlyWhatIsAskedAtEveryStage) {
    std::vector<TokenIndex> patches(64);
    std::iota(patches.begin(), patches.end(), 0U);
    for (unsigned seed = 1; seed < 10; ++seed) {
        const std::vector<float> rows = random_rows(64, 8, seed);
        const std::vector<float> scores = random_rows(1, 64, seed + 50);
        std::vector<float> cosines(64 * 64);
        SelectWorkspace workspace;
        ASSERT_TRUE(gram({rows.data(), 64, 8, 8}, workspace, nullptr, cosines.data(), 64).ok());
        for (std::size_t stage = 0; stage < 3; ++stage) {
            for (std::size_t keep = 1; keep < 64; ++keep) {
                const auto kept =
                    choose_btp({scores, {cosines.data(), 64, 64}, patches, {8, 8}}, stage, keep);
                ASSERT_EQ(kept.size(), keep);
                EXPECT_EQ(std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()), kept.end());
            }
        }
    }
}

TEST(Sparsevlm, RecyclesAsManyTokensAsPublished) {
    const auto counts = [](std::vector<std::size_t> kept) { return counts_with_recycling(576, kept); };
    EXPECT_THAT(counts({300, 200, 110}), ElementsAre(309, 204, 113));
    EXPECT_THAT(counts({303, 110, 36}), ElementsAre(312, 117, 39));
    EXPECT_THAT(counts({238, 48, 26}), ElementsAre(249, 55, 27));
    EXPECT_THAT(counts({66, 30, 17}), ElementsAre(82, 32, 18));
}

TEST(Sparsevlm, TakesThePublishedCountsOrSolvesForTheAverage) {
    const std::vector<std::string> published = {"counts=published"};
    EXPECT_THAT(keeps(program_of("sparsevlm", 192, BudgetKind::Average, published)),
                ElementsAre(300, 200, 110));
    EXPECT_THAT(keeps(program_of("sparsevlm+", 64, BudgetKind::Average, published)), ElementsAre(66, 34, 20));
    EXPECT_THAT(layers(program_of("sparsevlm", 192)), ElementsAre(2, 6, 15));
    const std::vector<StageShape> shapes = {{3, 1}, {7, 1}, {16, 1}};
    for (const double budget : {192.0, 128.0, 96.0, 64.0, 250.0}) {
        const auto solved = keeps(program_of("sparsevlm", budget));
        EXPECT_NEAR(layer_average(576, 32, shapes, counts_with_recycling(576, solved)), budget,
                    0.01 * budget);
        EXPECT_NEAR(layer_average(576, 32, shapes, keeps(program_of("sparsevlm+", budget))), budget,
                    0.01 * budget);
    }
    EXPECT_THAT(refusal_of("sparsevlm", 15), HasSubstr("process all 576"));
    EXPECT_THAT(refusal_of("sparsevlm", 100, BudgetKind::Entering), HasSubstr("all 576 visual tokens enter"));
}

TEST(DensityPeaks, FindTheTwoHeapsOnALine) {
    const std::vector<float> rows = {0.0F, 0.1F, 0.25F, 10.0F, 10.1F, 10.3F};
    const Clusters clusters = cluster_by_density({rows.data(), 6, 1, 1}, 2, false);
    ASSERT_EQ(clusters.centres.size(), 2U);
    EXPECT_NE(clusters.centres[0] < 3, clusters.centres[1] < 3);
    for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(clusters.cluster_of[i], clusters.cluster_of[0]);
    for (std::size_t i = 4; i < 6; ++i) EXPECT_EQ(clusters.cluster_of[i], clusters.cluster_of[3]);
    EXPECT_NE(clusters.cluster_of[0], clusters.cluster_of[3]);
}

TEST(DensityPeaks, TakeEqualRowsAndAsManyClustersAsRows) {
    const std::vector<float> equal(12, 1.0F);
    const Clusters same = cluster_by_density({equal.data(), 4, 3, 3}, 3, false);
    EXPECT_EQ(same.centres.size(), 3U);
    const std::vector<float> rows = random_rows(5, 2, 1);
    const Clusters all = cluster_by_density({rows.data(), 5, 2, 2}, 5, true);
    EXPECT_EQ(std::set<std::size_t>(all.cluster_of.begin(), all.cluster_of.end()).size(), 5U);
}

TEST(Sparsevlm, MergesTheBestOfWhatItDrops) {
    // 40 tokens of which 10 stay: 30 dropped, the best 10 of them form 2 clusters.
    std::vector<TokenIndex> live(40);
    std::iota(live.begin(), live.end(), 0U);
    std::vector<float> scores(40);
    for (std::size_t i = 0; i < 40; ++i) scores[i] = static_cast<float>(40 - i);
    const std::vector<float> hidden = random_rows(40, 6, 4);
    const Plan plan = recycle(live, scores, {hidden.data(), 40, 6, 6}, 10, false);
    ASSERT_EQ(plan.size(), 12U);
    std::set<TokenIndex> merged;
    for (std::size_t i = 0; i < 10; ++i) {
        EXPECT_EQ(plan.kept[i], i);
        EXPECT_TRUE(plan.sources(i).empty());
    }
    for (std::size_t i = 10; i < 12; ++i) {
        double sum = 0.0;
        for (const MergeSource& source : plan.sources(i)) {
            EXPECT_TRUE(merged.insert(source.row).second);
            sum += static_cast<double>(source.weight);
        }
        EXPECT_NEAR(sum, 1.0, 1e-4);
        EXPECT_TRUE(merged.contains(plan.kept[i]));
    }
    EXPECT_EQ(merged.size(), 10U);
    EXPECT_EQ(*merged.begin(), 10U);
    EXPECT_EQ(*merged.rbegin(), 19U);
}

TEST(Sparsevlm, RatersReceiveMoreThanTheMean) {
    // Both visual tokens point at the second word; the third gets next to nothing.
    const std::vector<float> visual = {1, 0, 2, 0};
    const std::vector<float> text = {1, 1, 4, 0, -3, 0};
    EXPECT_THAT(text_raters({visual.data(), 2, 2, 2}, {text.data(), 3, 2, 2}), ElementsAre(1));
    const std::vector<float> same = {1, 0, 1, 0};
    EXPECT_THAT(text_raters({visual.data(), 2, 2, 2}, {same.data(), 2, 2, 2}), ElementsAre(0, 1));
}

TEST(Sparsevlm, CorrectedScoresDivideByTheBiasAndTakeTheBestHeads) {
    // Two heads, one reference, three tokens.
    const std::vector<float> rows = {.1F, .2F, .3F, .4F, .1F, .1F};
    const std::vector<float> bias = {2.0F, 1.0F, 0.5F};
    const FeatureView table = {rows.data(), 2, 3, 3};
    const FeatureView divisor = {bias.data(), 1, 3, 3};
    const auto best = corrected_scores(table, divisor, 2, 1);
    EXPECT_THAT(best, ::testing::Pointwise(::testing::FloatNear(1e-6F), {.05F, .2F, .6F}));
    const auto both = corrected_scores(table, divisor, 2, 2);
    EXPECT_THAT(both, ::testing::Pointwise(::testing::FloatNear(1e-6F), {.125F, .15F, .4F}));
}

TEST(Mustdrop, KeepsKeyTokensFirstAndThenTheLargerRatio) {
    // Token 1 gets most together, token 3 most from one word; token 4 is a key token that nobody reads.
    const std::vector<float> rows = {.10F, .20F, .02F, .00F, .00F, .10F, .20F, .02F, .30F, .00F};
    const FeatureView table = {rows.data(), 2, 5, 5};
    const std::vector<bool> is_key = {false, false, false, false, true};
    EXPECT_THAT(choose_mustdrop(table, is_key, 1, {}), ElementsAre(4));
    EXPECT_THAT(choose_mustdrop(table, is_key, 3, {}), ElementsAre(1, 3, 4));
    // A strict threshold for single words leaves the share of all words to decide.
    EXPECT_THAT(choose_mustdrop(table, is_key, 2, {.global = 0.001, .individual = 1.0}), ElementsAre(1, 4));
}

TEST(Mustdrop, MergesInTheEncoderAndPrunesAfterFourLayers) {
    const Program program = program_of("mustdrop", 192);
    EXPECT_THAT(layers(program), ElementsAre(2, 6, 10, 14));
    EXPECT_THAT(program.encoder_blocks, ElementsAre(0));
    EXPECT_TRUE(program.merges_after_block);
    EXPECT_TRUE(program.is_adaptive);
}

}  // namespace
}  // namespace clasp::methods
