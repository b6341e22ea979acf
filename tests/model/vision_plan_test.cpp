// What pictures become: CLIP's plan, the arithmetic of areas, and plans that do not hold together.
#include "model/vision_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "clasp/fuse.h"
#include "image/test_images.h"
#include "support/grid_tower.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::load_vision;
using test::LoadedVision;
using testing::HasSubstr;

void expect_rect(const PixelRect& got, const PixelRect& wanted) {
    EXPECT_NEAR(got.left, wanted.left, 1e-9);
    EXPECT_NEAR(got.top, wanted.top, 1e-9);
    EXPECT_NEAR(got.width, wanted.width, 1e-9);
    EXPECT_NEAR(got.height, wanted.height, 1e-9);
}

TEST(ClipPlan, IsOneSquarePieceWhateverThePicture) {
    LoadedVision loaded = load_vision({});  // 56 pixels in patches of 14
    for (const PixelSize picture : {PixelSize{640, 480}, PixelSize{30, 1000}, PixelSize{2, 2}}) {
        const auto plan = loaded.model->plan(picture, {});
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        ASSERT_EQ(plan->pieces.size(), 1U);
        EXPECT_EQ(plan->pieces[0].size, (PixelSize{56, 56}));
        EXPECT_EQ(plan->pieces[0].shape, (PieceShape{.patches = {4, 4}, .n_prefix = 1, .merge = 1}));
        ASSERT_EQ(plan->arrangement.size(), 1U);
        EXPECT_EQ(plan->arrangement[0].count, 16U);
        EXPECT_EQ(plan->layout.n_tokens(), 16U);
        EXPECT_EQ(plan->layout.n_fixed, 0U);
        EXPECT_EQ(plan->layout.resized, (PixelSize{56, 56}));
    }
    EXPECT_FALSE(loaded.model->plan({0, 4}, {}).ok());
    // What the tower leaves no choice in is refused, not ignored.
    for (const PictureDetail& detail :
         {PictureDetail{.min_tokens = 4}, PictureDetail{.max_tokens = 900}, PictureDetail{.max_tiles = 2},
          PictureDetail{.preset = "paper"}, PictureDetail{.preset = "other"}}) {
        const auto refused = loaded.model->plan({40, 40}, {.detail = detail});
        EXPECT_EQ(refused.status().code(), Code::InvalidArgument);
    }
}

TEST(ClipPlan, CellsLieOnThePaddedSquare) {
    LoadedVision loaded = load_vision({});
    const auto plan = loaded.model->plan({640, 480}, {});
    expect_rect(plan->layout.regions[0].area, {0, -80, 640, 640});
    expect_rect(plan->layout.cell(0), {0, -80, 160, 160});
    expect_rect(plan->layout.cell(6), {320, 80, 160, 160});
    // llama.cpp scales first: 480 * 56 / 640 = 42 rows, 7 above and 7 below, the same place here.
    const auto compatible = loaded.model->plan({640, 480}, {Compat::LlamaCpp});
    EXPECT_EQ(compatible->layout.resized, (PixelSize{56, 42}));
    expect_rect(compatible->layout.regions[0].area, {0, -80, 640, 640});
}

// The pixels of a picture's piece are those of padding and resizing by hand.
TEST(ClipPlan, PreprocessingIsPadResizeNormalise) {
    LoadedVision loaded = load_vision({});
    const Image picture = image::testing::noise_image(61, 40);
    for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
        const auto plan = loaded.model->plan({61, 40}, {compat});
        const auto pieces = loaded.model->preprocess(picture, *plan, compat);
        ASSERT_TRUE(pieces.ok()) << pieces.status().message();
        const auto fit = image::square_fit({61, 40}, 56, image::kClipMeanColour, compat);
        const auto square = image::apply_fit(picture, fit);
        const VisionInfo& info = loaded.model->info();
        const auto planes = image::normalise(*square, {.mean = info.mean, .deviation = info.std}, compat);
        ASSERT_EQ(pieces->size(), 1U);
        EXPECT_EQ(pieces->front().values, planes->values);
    }
    const auto other = loaded.model->plan({60, 40}, {});
    EXPECT_THAT(loaded.model->preprocess(picture, *other, Compat::Original).status().message(),
                HasSubstr("the plan is for 60 x 40"));
}

VisionPlan two_tiles() {
    VisionPlan plan;
    plan.layout.picture = {100, 50};
    plan.views = {
        {.fit = image::padded_fit({100, 50}, {16, 16}, {}, image::Filter::Bicubic, Compat::Original)},
        {.from = 0, .fit = image::stretch_fit({32, 32}, image::Filter::Bilinear)}};
    for (const int left : {0, 16}) {
        plan.pieces.push_back({.view = 1, .left = left, .size = {16, 32}, .shape = {.patches = {4, 2}}});
    }
    plan.layout.n_pieces = 2;
    plan.layout.grid = {4, 4};
    // Row by row over both tiles, a line break behind each row.
    for (std::size_t row = 0; row < 4; ++row) {
        for (std::size_t tile = 0; tile < 2; ++tile) {
            plan.arrangement.push_back({.piece = tile, .first = 2 * row, .count = 2});
        }
        plan.arrangement.push_back({.kind = ArrangedRun::Kind::Fixed, .first_token = 4 * row, .n_tokens = 4});
    }
    plan.layout.n_fixed = 4;
    plan.layout.regions = {{.grid = {4, 4}, .area = area_of(plan, 1, {0, 0, 32, 32}), .view = 0}};
    return plan;
}

TEST(VisionPlan, AreasGoBackThroughAllViews) {
    const VisionPlan plan = two_tiles();
    ASSERT_TRUE(check_vision_plan(plan).ok()) << check_vision_plan(plan).message();
    // 100 x 50 becomes 16 x 8 with 4 rows above and below: the view shows 100 x 100 of it.
    expect_rect(plan.layout.regions[0].area, {0, -25, 100, 100});
    expect_rect(area_of(plan, plan.pieces[1]), {50, -25, 50, 100});
    const std::vector<TokenCell> cells = token_cells(plan);
    ASSERT_EQ(cells.size(), 16U);
    EXPECT_EQ(cells[2], (TokenCell{1, 0}));
    EXPECT_EQ(cells[5], (TokenCell{0, 3}));
}

TEST(VisionPlan, PiecesAreCutFromTheirView) {
    const VisionPlan plan = two_tiles();
    const Image picture = image::testing::noise_image(100, 50);
    const auto pieces = render_pieces(picture, plan, {}, Compat::Original);
    ASSERT_TRUE(pieces.ok()) << pieces.status().message();
    ASSERT_EQ(pieces->size(), 2U);
    const auto first = image::apply_fit(picture, plan.views[0].fit);
    const auto second = image::apply_fit(*first, plan.views[1].fit);
    const auto right = image::crop(*second, 16, 0, {16, 32});
    EXPECT_EQ((*pieces)[1].values, image::normalise(*right, {}, Compat::Original)->values);
}

TEST(VisionPlan, PartsThatDoNotFitAreNoticed) {
    const auto broken = [](auto change) {
        VisionPlan plan = two_tiles();
        change(plan);
        return check_vision_plan(plan).message();
    };
    EXPECT_THAT(broken([](VisionPlan& p) { p.pieces[0].left = 17; }), HasSubstr("not inside its view"));
    EXPECT_THAT(broken([](VisionPlan& p) { p.pieces[0].shape.merge = 3; }), HasSubstr("merging"));
    EXPECT_THAT(broken([](VisionPlan& p) { p.views[0].from = 1; }), HasSubstr("later one"));
    EXPECT_THAT(broken([](VisionPlan& p) { p.arrangement[0].count = 9; }), HasSubstr("leaves its piece"));
    EXPECT_THAT(broken([](VisionPlan& p) { p.arrangement[2].n_tokens = 5; }), HasSubstr("two fixed rows"));
    EXPECT_THAT(broken([](VisionPlan& p) { p.arrangement.pop_back(); }), HasSubstr("differ"));
}

// A tower with several graph inputs, merging and no prefix, through the common session.
TEST(GridTower, GivesATokenForEveryFourPatches) {
    test::register_grid_tower();
    const std::string file = test::grid_mmproj({.n_blocks = 3});
    auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    const auto model = VisionModel::load_bytes(test::bytes_of(file), {}, *compute);
    ASSERT_TRUE(model.ok()) << model.status().message();
    const auto session = VisionSession::create(*model);
    const auto plan = (*model)->plan({40, 20}, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->layout.n_tokens(), 4U + 5 * 3);
    const auto pieces = (*model)->preprocess(image::testing::noise_image(40, 20), *plan, Compat::Original);
    ASSERT_TRUE(pieces.ok()) << pieces.status().message();
    const auto layers = (*session)->encode((*pieces)[1], {.layers = {0, 2}});
    ASSERT_TRUE(layers.ok()) << layers.status().message();
    EXPECT_EQ(layers->layers[1].values.size(), 60 * test::kGridWidth);
    EXPECT_TRUE(layers->layers[1].class_row.empty());
    const auto tokens = (*session)->project(*layers, {{.layer = 2, .weight = 1.0}});
    ASSERT_TRUE(tokens.ok()) << tokens.status().message();
    EXPECT_EQ(tokens->grid, (Grid{3, 5}));
    EXPECT_EQ(tokens->values.size(), 15U * 96);
    EXPECT_EQ((*session)->encode((*pieces)[0], {.class_attention = {0}}).status().code(), Code::Unsupported);
    const std::vector<float> some(3 * test::kGridWidth);
    EXPECT_FALSE((*session)->project_rows(some, layers->shape, Compat::Original).ok());
}

// The engine mixes layers with a graph, the library with its own loops: one equation.
TEST(Fuse, TheSessionAndTheLibraryAgree) {
    LoadedVision loaded = load_vision({});
    std::mt19937 random(7);
    VisionLayers layers;
    layers.shape = loaded.pixels.piece.shape;
    layers.width = loaded.model->info().width;
    std::vector<LayerView> views;
    for (std::size_t layer = 0; layer < 3; ++layer) {
        std::vector<float> values(layers.shape.n_patches() * layers.width);
        for (float& value : values) value = static_cast<float>(random() % 20001) / 1000.0F - 10.0F;
        layers.layers.push_back({.layer = layer, .values = std::move(values)});
    }
    for (const LayerOutput& layer : layers.layers) {
        views.push_back({layer.values.data(), FloatType::F32, layers.shape.n_patches(), layers.width, 0});
    }
    std::vector<float> wanted(layers.shape.n_patches() * layers.width);
    const Mix mix = {{0, 0.2}, {1, 0.3}, {2, 0.5}};
    ASSERT_TRUE(fuse_layers(views, std::vector<float>{0.2F, 0.3F, 0.5F}, wanted).ok());
    const auto got = loaded.session->fuse(layers, mix);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_LT(test::relative_error(*got, wanted), 1e-6);
    ASSERT_TRUE(fuse_layers(views, std::vector<float>{0.0F, 1.0F, 0.0F}, wanted).ok());
    EXPECT_EQ(*loaded.session->fuse(layers, {{0, 0.0}, {1, 1.0}, {2, 0.0}}), wanted);
}

}  // namespace
}  // namespace clasp::model
