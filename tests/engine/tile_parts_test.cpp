// Overview and tiles as methods see them, and HiRED, which shares its budget among them.
#include "engine/tile_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/picture_input.h"
#include "model/tiled_plan.h"
#include "model/vision_model.h"
#include "support/family_files.h"

namespace clasp {
namespace {

using methods::TileParts;
using model::TileMerge;

constexpr std::size_t kWhole = TileParts::kOverview;

// ---- Which token is where ----

model::VisionPlan plan_of(TileMerge merge, Compat compat = Compat::Original, PixelSize picture = {120, 90}) {
    model::TileRule rule;
    rule.resolutions = {{112, 112}, {56, 168}, {112, 56}};
    rule.tile_size = 56;
    rule.patches_per_side = 4;
    rule.merge = merge;
    return model::tiled_plan(picture, rule, {.patches = {4, 4}, .n_prefix = 1}, compat);
}

std::vector<std::size_t> tile_by_tile(std::size_t n_tiles) {
    std::vector<std::size_t> tiles(16 * n_tiles);
    for (std::size_t i = 0; i < tiles.size(); ++i) tiles[i] = i / 16;
    return tiles;
}

TEST(TileParts, EveryTokenKnowsItsTile) {
    const std::vector<std::size_t> overview(16, kWhole);
    // 8 x 8 patches, of which spatial_unpad leaves the rows 1 to 6.
    const auto over_rows = [&](std::size_t first, std::size_t last) {
        std::vector<std::size_t> all = overview;
        for (std::size_t row = first; row < last; ++row) {
            for (std::size_t column = 0; column < 8; ++column) all.push_back(row / 4 * 2 + column / 4);
        }
        return all;
    };
    std::vector<std::size_t> flat = overview;
    const std::vector<std::size_t> four = tile_by_tile(4);
    flat.insert(flat.end(), four.begin(), four.end());
    std::vector<std::size_t> overview_last = four;
    overview_last.insert(overview_last.end(), overview.begin(), overview.end());

    const auto tiles_of = [](const model::VisionPlan& plan) {
        const auto parts = engine::tile_parts(plan);
        EXPECT_TRUE(parts.has_value());
        EXPECT_EQ(parts->overview, (Grid{4, 4}));
        EXPECT_EQ(parts->tiles, (Grid{2, 2}));
        return parts->tile_of;
    };
    EXPECT_EQ(tiles_of(plan_of(TileMerge::SpatialUnpad)), over_rows(1, 7));
    EXPECT_EQ(tiles_of(plan_of(TileMerge::Spatial)), over_rows(0, 8));
    EXPECT_EQ(tiles_of(plan_of(TileMerge::Flat)), flat);
    EXPECT_EQ(tiles_of(plan_of(TileMerge::Flat, Compat::LlamaCpp)), overview_last);
}

// Tiles that are all padding are not encoded; the others keep their numbers.
TEST(TileParts, TilesWithoutATokenAreCountedAllTheSame) {
    const model::VisionPlan plan = plan_of(TileMerge::SpatialUnpad, Compat::Original, {20, 200});
    ASSERT_EQ(plan.layout.tiles, (Grid{3, 1}));
    const auto parts = engine::tile_parts(plan);
    ASSERT_TRUE(parts.has_value());
    EXPECT_EQ(parts->tile_of.size(), plan.layout.n_tokens());
    EXPECT_EQ(parts->tile_of.back(), 2U);
}

TEST(TileParts, AreOfPicturesWithAnOverviewAlone) {
    // llama.cpp does not cut what fits into a tile.
    EXPECT_FALSE(engine::tile_parts(plan_of(TileMerge::Flat, Compat::LlamaCpp, {40, 40})).has_value());
    model::VisionPlan plan = plan_of(TileMerge::Flat);
    plan.layout.n_steps = 5;  // frames of a clip
    EXPECT_FALSE(engine::tile_parts(plan).has_value());
    plan = plan_of(TileMerge::Flat);
    plan.pieces.erase(plan.pieces.begin());  // tiles alone
    EXPECT_FALSE(engine::tile_parts(plan).has_value());
    plan = plan_of(TileMerge::Flat);
    for (model::ImagePiece& piece : plan.pieces) piece.shape.merge = 2;
    EXPECT_FALSE(engine::tile_parts(plan).has_value());
}

// ---- HiRED ----

// LLaVA-NeXT in small: 120 x 90 becomes an overview of 4 x 4 patches and 2 x 2 tiles, of whose 8 x 8 patches
// 6 rows are no padding.
class HiredTilesTest : public testing::Test {
   protected:
    static constexpr std::size_t kBase = 16;
    static constexpr std::size_t kVisual = kBase + 48;
    static constexpr std::size_t kBlock = 22;  // whose output is projected

    static void SetUpTestSuite() {
        files() = std::make_unique<test::FamilyFiles>("hired-tiles", test::llava_family_text(),
                                                      test::random_mmproj(test::next_family_vision()));
        engine() = files()->load({.vision_weights = "file"});
    }
    static void TearDownTestSuite() {
        engine().reset();
        files().reset();
    }
    static std::unique_ptr<test::FamilyFiles>& files() {
        static std::unique_ptr<test::FamilyFiles> both;
        return both;
    }
    static std::unique_ptr<Engine>& engine() {
        static std::unique_ptr<Engine> one;
        return one;
    }

    // What is kept before the decoder.
    [[nodiscard]] std::vector<TokenIndex> kept(std::size_t budget, std::vector<std::string> options = {},
                                               const std::string& method = "hired") const {
        AskRequest request = test::question_about(picture_);
        request.method = method;
        request.method_options = std::move(options);
        request.budget = {BudgetSpec::Kind::Tokens, static_cast<double>(budget)};
        request.generation.max_tokens = 1;
        const Answer answer = test::answer_of(*engine(), request);
        EXPECT_FALSE(answer.stages.empty());
        return answer.stages.empty() ? std::vector<TokenIndex>() : answer.stages.front().kept;
    }
    static std::size_t of_overview(const std::vector<TokenIndex>& tokens) {
        return static_cast<std::size_t>(
            std::count_if(tokens.begin(), tokens.end(), [](TokenIndex token) { return token < kBase; }));
    }

    // Class attention of a block in every piece, straight from the tower: the overview, then the tiles.
    [[nodiscard]] std::vector<std::vector<float>> attention_of(std::size_t block) const {
        auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
        const auto vision =
            model::VisionModel::load(files()->vision(), {.weights = model::VisionWeights::File}, *compute);
        const auto session = model::VisionSession::create(*vision);
        const auto planned = engine::plan_pictures({{{}, picture_}}, **vision, {}, nullptr);
        const auto prepared = engine::prepare_picture(planned->front(), **vision, false, nullptr, nullptr);
        EXPECT_EQ((*prepared)->pieces.size(), 5U);
        std::vector<std::vector<float>> pieces;
        for (const model::PiecePixels& piece : (*prepared)->pieces) {
            const auto layers = (*session)->encode_group(std::span(&piece, 1), {.class_attention = {block}});
            const std::vector<float>& mean = layers->front().class_attention.front().mean;
            pieces.emplace_back(mean.begin() + 1, mean.end());
        }
        return pieces;
    }

    std::string picture_ = test::picture(1, 120, 90);
};

std::vector<std::size_t> by_score(const std::vector<float>& scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return order;
}

// The published algorithm once more, over the tower's own attention.
TEST_F(HiredTilesTest, TheFirstBlockSharesAndTheFeatureBlockChooses) {
    constexpr std::size_t kBudget = 30;
    const std::vector<std::size_t> marked = by_score(attention_of(0).front());
    std::array<std::size_t, 4> marks = {};
    for (std::size_t i = 0; i < kBase / 2; ++i) ++marks[marked[i] / 4 / 2 * 2 + marked[i] % 4 / 2];
    std::array<std::size_t, 4> shares = {};
    std::vector<float> remainders;
    for (std::size_t tile = 0; tile < 4; ++tile) {
        const double exact = static_cast<double>(marks[tile]) / 8.0 * 15.0;
        shares[tile] = static_cast<std::size_t>(exact);
        remainders.push_back(static_cast<float>(exact - std::floor(exact)));
    }
    std::size_t missing = 15 - std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    for (const std::size_t tile : by_score(remainders)) {
        if (missing == 0) break;
        ++shares[tile];
        --missing;
    }
    ASSERT_LE(*std::max_element(shares.begin(), shares.end()), 12U) << "another picture: a tile is full";
    EXPECT_NE(shares[0], shares[3]) << "another picture: this one says nothing about shares";

    const std::vector<std::vector<float>> attention = attention_of(kBlock);
    std::vector<TokenIndex> expected;
    const std::vector<std::size_t> base = by_score(attention[0]);
    for (std::size_t i = 0; i < 15; ++i) expected.push_back(static_cast<TokenIndex>(base[i]));
    for (std::size_t tile = 0; tile < 4; ++tile) {
        std::size_t left = shares[tile];
        for (const std::size_t patch : by_score(attention[tile + 1])) {
            const std::size_t row = tile / 2 * 4 + patch / 4;  // of 8, the outer two are padding
            if (left == 0 || row < 1 || row > 6) continue;
            const std::size_t column = tile % 2 * 4 + patch % 4;
            expected.push_back(static_cast<TokenIndex>(kBase + (row - 1) * 8 + column));
            --left;
        }
    }
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(kept(kBudget), expected);
    EXPECT_NE(kept(kBudget, {}, "fastervlm"), expected);
}

TEST_F(HiredTilesTest, TheOverviewHasTheShareThatIsAskedFor) {
    for (const std::size_t budget : {3U, 17U, 30U, 50U, 63U}) {
        for (const double share : {0.0, 0.25, 0.5, 1.0}) {
            const std::vector<TokenIndex> tokens = kept(budget, {"base-share=" + std::to_string(share)});
            EXPECT_EQ(tokens.size(), budget);
            const auto wanted = static_cast<std::size_t>(share * static_cast<double>(budget));
            const std::size_t least = budget > kVisual - kBase ? budget - (kVisual - kBase) : 0;
            EXPECT_EQ(of_overview(tokens), std::max(least, std::min(wanted, kBase)))
                << budget << ", " << share;
        }
    }
}

TEST_F(HiredTilesTest, TheAuthorsCodeLosesWhatItRoundsAway) {
    const std::vector<TokenIndex> code = kept(31, {"faithful=code"});
    EXPECT_EQ(of_overview(code), 15U);
    EXPECT_LE(code.size(), 31U);
    EXPECT_GE(code.size(), 28U);
    EXPECT_EQ(kept(1, {"faithful=code"}).size(), 1U);
}

}  // namespace
}  // namespace clasp
