// LLaVA-NeXT's pictures: which resolution, which tiles, which tokens in which order. The numbers are those of
// the authors' code; where others differ is said beside them.
#include "model/tiled_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace clasp::model {
namespace {

constexpr std::size_t kSide = 24;
constexpr std::size_t kOverview = kSide * kSide;
const PieceShape kShape = {.patches = {kSide, kSide}, .n_prefix = 1, .merge = 1};

TileRule rule_of(TileMerge merge) {
    return {.resolutions = {{336, 672}, {672, 336}, {672, 672}, {1008, 336}, {336, 1008}},
            .tile_size = 336,
            .patches_per_side = kSide,
            .merge = merge};
}

VisionPlan plan_of(PixelSize picture, TileMerge merge, Compat compat = Compat::Original) {
    VisionPlan plan = tiled_plan(picture, rule_of(merge), kShape, compat);
    EXPECT_TRUE(check_vision_plan(plan).ok()) << check_vision_plan(plan).message();
    return plan;
}

std::size_t n_tokens(const VisionPlan& plan) {
    return plan.layout.n_tokens() + plan.layout.n_fixed;
}

std::string named(PixelSize size) {
    return std::to_string(size.width) + " x " + std::to_string(size.height);
}

struct Row {
    PixelSize picture;
    PixelSize best;
    PixelSize resized;
    PixelSize grid;  // columns and rows of patches of all tiles
    PixelSize kept;  // the same without padding
    std::size_t tokens;
    std::size_t spatial;
    std::size_t llama_cpp;
};

const std::vector<Row> kTable = {
    {{640, 480}, {672, 672}, {672, 504}, {48, 48}, {48, 36}, 2340, 2880, 2880},
    {{480, 640}, {672, 672}, {504, 672}, {48, 48}, {36, 48}, 2352, 2880, 2880},
    {{1000, 300}, {1008, 336}, {1008, 303}, {72, 24}, {72, 22}, 2182, 2304, 2304},
    {{300, 1000}, {336, 1008}, {303, 1008}, {24, 72}, {22, 72}, 2232, 2304, 2304},
    {{1920, 1080}, {672, 672}, {672, 378}, {48, 48}, {48, 28}, 1948, 2880, 2880},
    {{672, 672}, {672, 672}, {672, 672}, {48, 48}, {48, 48}, 2928, 2880, 2880},
    {{800, 800}, {672, 672}, {672, 672}, {48, 48}, {48, 48}, 2928, 2880, 2880},
    {{336, 336}, {336, 672}, {336, 336}, {24, 48}, {24, 24}, 1176, 1728, 576},
    {{200, 100}, {336, 672}, {336, 168}, {24, 48}, {24, 12}, 876, 1728, 576},
};

TEST(TiledPlan, IsTheAuthorsTable) {
    for (const Row& row : kTable) {
        SCOPED_TRACE(named(row.picture));
        const VisionPlan unpad = plan_of(row.picture, TileMerge::SpatialUnpad);
        EXPECT_EQ(choose_resolution(row.picture, rule_of(TileMerge::Flat).resolutions, Compat::Original),
                  row.best);
        EXPECT_EQ(unpad.layout.resized, row.resized);
        EXPECT_EQ(unpad.layout.tiles.width * kSide, static_cast<std::size_t>(row.grid.width));
        EXPECT_EQ(unpad.layout.tiles.height * kSide, static_cast<std::size_t>(row.grid.height));
        EXPECT_EQ(unpad.layout.grid, (Grid{static_cast<std::size_t>(row.kept.height),
                                           static_cast<std::size_t>(row.kept.width)}));
        EXPECT_EQ(n_tokens(unpad), row.tokens);
        EXPECT_EQ(unpad.layout.n_fixed, static_cast<std::size_t>(row.kept.height));
        for (const TileMerge merge : {TileMerge::Spatial, TileMerge::Flat}) {
            const VisionPlan whole = plan_of(row.picture, merge);
            EXPECT_EQ(n_tokens(whole), row.spatial);
            EXPECT_EQ(whole.layout.n_fixed, 0U);
            EXPECT_EQ(whole.layout.grid, (Grid{static_cast<std::size_t>(row.grid.height),
                                               static_cast<std::size_t>(row.grid.width)}));
        }
        const VisionPlan compatible = plan_of(row.picture, TileMerge::SpatialUnpad, Compat::LlamaCpp);
        EXPECT_EQ(n_tokens(compatible), row.llama_cpp);
        EXPECT_EQ(compatible.layout.n_fixed, 0U);
        EXPECT_EQ(compatible.layout.n_pieces, row.llama_cpp / kOverview);
    }
}

// 396 * (48 / 704) is 27 but for floating-point error, which the authors' code keeps: 26, so 11 rows of
// padding on either side. Hugging Face's rounds first and has 48 x 28 patches, 1948 tokens.
TEST(TiledPlan, KeepsTheAuthorsFloatingPointError) {
    EXPECT_EQ(n_tokens(plan_of({704, 396}, TileMerge::SpatialUnpad)), 1850U);
    EXPECT_EQ(n_tokens(plan_of({752, 423}, TileMerge::SpatialUnpad)), 1850U);
    for (const auto& [picture, grid, part] :
         {std::tuple{PixelSize{704, 396}, Grid{48, 48}, PatchRect{0, 11, {26, 48}}},
          {PixelSize{752, 423}, Grid{48, 48}, PatchRect{0, 11, {26, 48}}},
          {PixelSize{396, 704}, Grid{48, 48}, PatchRect{11, 0, {48, 26}}},
          {PixelSize{423, 752}, Grid{48, 48}, PatchRect{11, 0, {48, 26}}}}) {
        EXPECT_EQ(unpadded(picture, grid), part) << named(picture);
    }
    // The same elsewhere; exact arithmetic would leave two columns or rows more of each.
    EXPECT_EQ(plan_of({220, 1056}, TileMerge::SpatialUnpad).layout.grid, (Grid{72, 14}));
    EXPECT_EQ(plan_of({352, 748}, TileMerge::SpatialUnpad).layout.grid, (Grid{50, 24}));
    EXPECT_EQ(plan_of({704, 1496}, TileMerge::SpatialUnpad).layout.grid, (Grid{50, 24}));
}

// Equal in both counts: the first of the list. Read as height and width, as Hugging Face does, it would be
// the other one.
TEST(TiledPlan, TiesGoToTheFirstResolution) {
    for (const PixelSize picture : {PixelSize{336, 336}, PixelSize{200, 100}, PixelSize{100, 200}}) {
        EXPECT_EQ(choose_resolution(picture, rule_of(TileMerge::Flat).resolutions, Compat::Original),
                  (PixelSize{336, 672}))
            << named(picture);
    }
}

// Hugging Face's port, where it differs: resolutions are read as height and width, so that ties go the other
// way, and what is shown of a padded side is rounded to seven decimals before it is cut down.
std::size_t hugging_face_tokens(PixelSize picture) {
    std::vector<PixelSize> turned;
    for (const PixelSize size : rule_of(TileMerge::Flat).resolutions)
        turned.push_back({size.height, size.width});
    const PixelSize best = choose_resolution(picture, turned, Compat::Original);
    const double columns = best.width / 14.0;
    const double rows = best.height / 14.0;
    const auto kept = [](double all, double shown) {
        const double whole = std::floor(std::round(shown * 1e7) / 1e7);
        return static_cast<std::size_t>(all - 2.0 * std::floor((all - whole) / 2.0));
    };
    const bool is_wide = static_cast<double>(picture.width) / picture.height > columns / rows;
    const std::size_t n_rows =
        is_wide ? kept(rows, picture.height * (columns / picture.width)) : static_cast<std::size_t>(rows);
    const std::size_t n_columns =
        is_wide ? static_cast<std::size_t>(columns) : kept(columns, picture.width * (rows / picture.height));
    return kOverview + n_rows * (n_columns + 1);
}

TEST(TiledPlan, DiffersFromHuggingFaceInTiesAndFloatingPointErrorAlone) {
    for (const Row& row : kTable) {
        const bool is_tie = row.picture == PixelSize{200, 100};
        EXPECT_EQ(hugging_face_tokens(row.picture), is_tie ? 1752U : row.tokens) << named(row.picture);
    }
    for (const PixelSize picture : {PixelSize{704, 396}, {752, 423}}) {
        EXPECT_EQ(hugging_face_tokens(picture), 1948U) << named(picture);
    }
    std::mt19937 random(5);
    std::size_t n_other = 0;
    for (int i = 0; i < 2000; ++i) {
        const PixelSize picture = {337 + static_cast<int>(random() % 1500),
                                   337 + static_cast<int>(random() % 1500)};
        const std::size_t ours = n_tokens(plan_of(picture, TileMerge::SpatialUnpad));
        if (hugging_face_tokens(picture) != ours) ++n_other;
    }
    EXPECT_LT(n_other, 20U) << "floating-point error is rare";
}

// ---- The order of the tokens ----

// A row of the decoder: a patch of the picture's tiles by its place in the file's order, or a newline.
struct Place {
    std::size_t piece = 0;  // 0 the overview, 1 + tile
    std::size_t cell = 0;
    bool is_newline = false;
    friend bool operator==(const Place&, const Place&) = default;
};

// The authors' steps on numbered patches, with nothing shared: tiles as [tile row][tile column][y][x], put
// into one picture of patches, cut, a newline behind each row, all after the overview.
std::vector<Place> reference(PixelSize picture, const Grid& tiles, TileMerge merge) {
    std::vector<Place> rows;
    for (std::size_t cell = 0; cell < kOverview; ++cell) rows.push_back({0, cell});
    if (merge == TileMerge::Flat) {
        for (std::size_t tile = 0; tile < tiles.height * tiles.width; ++tile) {
            for (std::size_t cell = 0; cell < kOverview; ++cell) rows.push_back({1 + tile, cell});
        }
        return rows;
    }
    std::vector<std::vector<Place>> whole(tiles.height * kSide, std::vector<Place>(tiles.width * kSide));
    for (std::size_t tile = 0; tile < tiles.height * tiles.width; ++tile) {
        for (std::size_t cell = 0; cell < kOverview; ++cell) {
            whole[tile / tiles.width * kSide + cell / kSide][tile % tiles.width * kSide + cell % kSide] = {
                1 + tile, cell};
        }
    }
    if (merge == TileMerge::SpatialUnpad) {
        const double height = static_cast<double>(whole.size());
        const double width = static_cast<double>(whole[0].size());
        const double original = static_cast<double>(picture.width) / picture.height;
        if (original > width / height) {
            const int shown = static_cast<int>(picture.height * (width / picture.width));
            const int cut = (static_cast<int>(height) - shown) / 2;
            whole = {whole.begin() + cut, whole.end() - cut};
        } else {
            const int shown = static_cast<int>(picture.width * (height / picture.height));
            const int cut = (static_cast<int>(width) - shown) / 2;
            for (std::vector<Place>& row : whole) row = {row.begin() + cut, row.end() - cut};
        }
    }
    for (const std::vector<Place>& row : whole) {
        rows.insert(rows.end(), row.begin(), row.end());
        if (merge == TileMerge::SpatialUnpad) rows.push_back({0, 0, true});
    }
    return rows;
}

std::vector<Place> arranged(const VisionPlan& plan) {
    std::vector<Place> rows;
    for (const ArrangedRun& run : plan.arrangement) {
        if (run.kind == ArrangedRun::Kind::Fixed) {
            rows.push_back({0, 0, true});
            continue;
        }
        const ImagePiece& piece = plan.pieces[run.piece];
        const auto tile = static_cast<std::size_t>(piece.top / 336) * plan.layout.tiles.width +
                          static_cast<std::size_t>(piece.left / 336);
        for (std::size_t i = 0; i < run.count; ++i) {
            rows.push_back({piece.view == 0 ? 0 : 1 + tile, run.first + i});
        }
    }
    return rows;
}

std::vector<PixelSize> some_sizes() {
    std::vector<PixelSize> sizes = {{1, 1},    {2, 2},    {1, 47},    {1, 49},
                                    {1000, 8}, {8, 1000}, {1, 65535}, {65535, 1}};
    for (const Row& row : kTable) sizes.push_back(row.picture);
    std::mt19937 random(11);
    for (int i = 0; i < 150; ++i) {
        sizes.push_back({1 + static_cast<int>(random() % 2000), 1 + static_cast<int>(random() % 2000)});
    }
    return sizes;
}

TEST(TiledPlan, ArrangesAsTheAuthorsCodeDoes) {
    for (const PixelSize picture : some_sizes()) {
        for (const TileMerge merge : kAllTileMerges) {
            const VisionPlan plan = plan_of(picture, merge);
            ASSERT_EQ(arranged(plan), reference(picture, plan.layout.tiles, merge))
                << named(picture) << ' ' << tile_merge_name(merge);
        }
        const VisionPlan compatible = plan_of(picture, TileMerge::SpatialUnpad, Compat::LlamaCpp);
        const std::vector<Place> got = arranged(compatible);
        if (compatible.pieces.size() > 1) {
            std::vector<Place> wanted = reference(picture, compatible.layout.tiles, TileMerge::Flat);
            std::rotate(wanted.begin(), wanted.begin() + kOverview, wanted.end());
            ASSERT_EQ(got, wanted) << "tile by tile, then the overview";
        } else {
            ASSERT_EQ(got.size(), kOverview);
        }
    }
}

// A newline goes with exactly the patches of its own row.
TEST(TiledPlan, NewlinesGoWithTheirRows) {
    for (const PixelSize picture : some_sizes()) {
        const VisionPlan plan = plan_of(picture, TileMerge::SpatialUnpad);
        std::size_t n_before = 0;  // tokens before this row of the arrangement
        std::size_t row_begin = kOverview;
        for (const ArrangedRun& run : plan.arrangement) {
            if (run.kind == ArrangedRun::Kind::Tokens) {
                n_before += run.count;
                continue;
            }
            ASSERT_EQ(run.first_token, row_begin) << named(picture);
            ASSERT_EQ(run.first_token + run.n_tokens, n_before) << named(picture);
            row_begin = n_before;
        }
        EXPECT_EQ(n_before, plan.layout.n_tokens());
    }
}

// ---- Where tokens lie ----

TEST(TiledPlan, CellsLieWhereTheirPatchesAre) {
    const VisionPlan plan = plan_of({640, 480}, TileMerge::SpatialUnpad);
    ASSERT_EQ(plan.layout.regions.size(), 2U);
    // 672 x 504 of 672 x 672: 84 rows above are 6 of patches, so what is left is the picture itself.
    const PixelRect area = plan.layout.regions[1].area;
    EXPECT_NEAR(area.left, 0.0, 1e-9);
    EXPECT_NEAR(area.top, 0.0, 1e-9);
    EXPECT_NEAR(area.width, 640.0, 1e-9);
    EXPECT_NEAR(area.height, 480.0, 1e-9);
    // The second token of the third row, and the same of the overview.
    const PixelRect cell = plan.layout.cell(kOverview + 2 * 48 + 1);
    EXPECT_NEAR(cell.left, 640.0 / 48, 1e-9);
    EXPECT_NEAR(cell.top, 480.0 / 36 * 2, 1e-9);
    const PixelRect seen = plan.layout.cell(2 * 24 + 1);
    EXPECT_NEAR(seen.left, 640.0 / 24, 1e-9);
    EXPECT_NEAR(seen.top, 480.0 / 24 * 2, 1e-9);
}

// Whatever the order, a patch lies in the same place.
TEST(TiledPlan, TheOrderMovesNoPatch) {
    for (const PixelSize picture : {PixelSize{640, 480}, PixelSize{300, 1000}, PixelSize{200, 100}}) {
        const VisionPlan flat = plan_of(picture, TileMerge::Flat);
        const std::vector<Place> order = arranged(flat);
        for (const TileMerge merge : {TileMerge::Spatial, TileMerge::SpatialUnpad}) {
            const VisionPlan plan = plan_of(picture, merge);
            TokenIndex token = 0;
            for (const Place& place : arranged(plan)) {
                if (place.is_newline) continue;
                const auto same = static_cast<TokenIndex>(place.piece * kOverview + place.cell);
                ASSERT_EQ(order[same], place);
                const PixelRect got = plan.layout.cell(token++);
                const PixelRect wanted = flat.layout.cell(same);
                ASSERT_NEAR(got.left, wanted.left, 1e-6) << named(picture) << " token " << token - 1;
                ASSERT_NEAR(got.top, wanted.top, 1e-6);
                ASSERT_NEAR(got.width, wanted.width, 1e-6);
                ASSERT_NEAR(got.height, wanted.height, 1e-6);
            }
        }
    }
}

// ---- Odd pictures and lists ----

// So narrow that the authors' code cuts every column: newlines remain, and no tile is worth encoding.
TEST(TiledPlan, AThreadLeavesTheOverviewAndNewlines) {
    const VisionPlan tall = plan_of({1, 1000}, TileMerge::SpatialUnpad);
    EXPECT_EQ(tall.layout.n_tokens(), kOverview);
    EXPECT_EQ(tall.layout.n_fixed, 72U);
    EXPECT_EQ(tall.pieces.size(), 1U);
    EXPECT_EQ(tall.layout.grid, (Grid{kSide, kSide}));
    const VisionPlan wide = plan_of({1000, 1}, TileMerge::SpatialUnpad);
    EXPECT_EQ(n_tokens(wide), kOverview);
}

TEST(TiledPlan, TilesOfNothingButPaddingAreNotEncoded) {
    TileRule rule = rule_of(TileMerge::SpatialUnpad);
    rule.resolutions = {{336, 1008}};
    const VisionPlan plan = tiled_plan({300, 300}, rule, kShape, Compat::Original);
    ASSERT_TRUE(check_vision_plan(plan).ok());
    ASSERT_EQ(plan.pieces.size(), 2U) << "the overview and the tile in the middle";
    EXPECT_EQ(plan.pieces[1].top, 336);
    EXPECT_EQ(n_tokens(plan), kOverview + 24U * 25U);
    rule.merge = TileMerge::Spatial;
    EXPECT_EQ(tiled_plan({300, 300}, rule, kShape, Compat::Original).pieces.size(), 4U);
}

}  // namespace
}  // namespace clasp::model
