// What a vision file says about tiles: the keys of LLaVA-NeXT's files, and files that are not as they should
// be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/gguf_edit.h"
#include "support/random_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using test::bytes_of;
using testing::HasSubstr;

// Tiles of 28 pixels, 2 x 2 patches.
test::MmprojSpec toy() {
    test::MmprojSpec spec;
    spec.image_size = 28;
    spec.width = 32;
    spec.n_heads = 2;
    spec.ffn_width = 64;
    spec.n_blocks = 3;
    return test::tiled(spec);
}

Result<VisionInfo> inspected(const test::MmprojSpec& spec) {
    return inspect_vision(bytes_of(test::random_mmproj(spec)));
}

TEST(TileRule, IsReadFromTheFile) {
    const auto info = inspected(toy());
    ASSERT_TRUE(info.ok()) << info.status().message();
    ASSERT_TRUE(info->tiles.has_value());
    EXPECT_EQ(info->tiles->resolutions,
              (std::vector<PixelSize>{{28, 56}, {56, 28}, {56, 56}, {84, 28}, {28, 84}}));
    EXPECT_EQ(info->tiles->tile_size, 28);
    EXPECT_EQ(info->tiles->patches_per_side, 2U);
    EXPECT_EQ(info->tiles->merge, TileMerge::SpatialUnpad);
    for (const TileMerge merge : kAllTileMerges) {
        test::MmprojSpec spec = toy();
        spec.merge_type = tile_merge_name(merge);
        const auto other = inspected(spec);
        ASSERT_TRUE(other.ok()) << other.status().message();
        EXPECT_EQ(other->tiles->merge, merge);
    }
    test::MmprojSpec whole = toy();
    whole.pinpoints.clear();
    EXPECT_FALSE(inspected(whole)->tiles.has_value());
}

// Only spatial_unpad has newlines in the authors' code, and flat is what they do without a setting.
TEST(TileRule, WithoutAMergeTypeTheNewlineDecides) {
    test::MmprojSpec spec = toy();
    spec.merge_type.clear();
    EXPECT_EQ(inspected(spec)->tiles->merge, TileMerge::SpatialUnpad);
    spec.newline_name.clear();
    EXPECT_EQ(inspected(spec)->tiles->merge, TileMerge::Flat);
}

TEST(TileRule, WithoutItsNewlineVectorAFileIsSpatialAndSaysSo) {
    test::MmprojSpec spec = toy();
    EXPECT_EQ(inspected(spec)->note, "");
    spec.newline_name.clear();
    const auto info = inspected(spec);
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->tiles->merge, TileMerge::Spatial);
    EXPECT_THAT(info->note, HasSubstr("no tensor model.image_newline, so its tiles are arranged by spatial"));
    spec.merge_type = "flat";
    EXPECT_EQ(inspected(spec)->note, "");
}

TEST(TileRule, AnotherOrderCanBeAskedFor) {
    const std::string file = test::random_mmproj(toy());
    const auto plan = [&](const std::string& merge, Compat compat = Compat::Original) {
        return plan_vision(bytes_of(file), {56, 42}, {.compat = compat, .detail = {.tile_merge = merge}});
    };
    EXPECT_EQ(plan("")->n_fixed, 4U) << "an odd row of padding stays";
    EXPECT_EQ(plan("spatial_unpad")->n_fixed, 4U);
    EXPECT_EQ(plan("spatial")->n_fixed, 0U);
    EXPECT_EQ(plan("spatial")->n_tokens(), 20U);
    EXPECT_EQ(plan("spatial")->regions.size(), 2U);
    EXPECT_EQ(plan("flat")->regions.size(), 5U);
    EXPECT_THAT(plan("maxpool2x2").status().message(), HasSubstr("there is no order of tiles 'maxpool2x2'"));
    EXPECT_TRUE(plan("flat", Compat::LlamaCpp).ok());
    EXPECT_THAT(plan("spatial", Compat::LlamaCpp).status().message(), HasSubstr("in one order, flat"));
    test::MmprojSpec bare = toy();
    bare.newline_name.clear();
    const std::string without = test::random_mmproj(bare);
    const auto refused =
        plan_vision(bytes_of(without), {56, 42}, {.detail = {.tile_merge = "spatial_unpad"}});
    EXPECT_THAT(refused.status().message(), HasSubstr("has no tensor model.image_newline"));
    test::MmprojSpec whole = toy();
    whole.pinpoints.clear();
    const std::string llava = test::random_mmproj(whole);
    EXPECT_THAT(plan_vision(bytes_of(llava), {56, 42}, {.detail = {.tile_merge = "flat"}}).status().message(),
                HasSubstr("clip-vit leaves no choice of the order of tiles"));
}

TEST(TileRule, BothNamesOfTheNewlineAreKnown) {
    for (const std::string name : {"model.image_newline", "v.image_newline"}) {
        test::MmprojSpec spec = toy();
        spec.newline_name = name;
        const test::LoadedVision loaded = test::load_vision(spec);
        const auto row = loaded.model->fixed_row(0);
        ASSERT_TRUE(row.ok()) << row.status().message();
        test::EditedGguf file = test::EditedGguf::parse(loaded.file);
        const std::string& data = file.tensor(name)->data;
        std::vector<float> wanted(spec.output_width);
        ASSERT_EQ(data.size(), wanted.size() * sizeof(float));
        std::memcpy(wanted.data(), data.data(), data.size());
        EXPECT_EQ(*row, wanted);
    }
}

// A file without newlines has none to give.
TEST(TileRule, OtherMergesBringNoFixedRow) {
    test::MmprojSpec spec = toy();
    spec.merge_type = "spatial";
    spec.newline_name.clear();
    const test::LoadedVision loaded = test::load_vision(spec);
    EXPECT_FALSE(loaded.model->fixed_row(0).ok());
}

TEST(TileRule, HostileFilesAreRefusedInASentence) {
    const auto refusal = [](auto change) {
        test::MmprojSpec spec = toy();
        change(spec);
        const auto info = inspected(spec);
        EXPECT_FALSE(info.ok());
        return info.status().message();
    };
    using Spec = test::MmprojSpec;
    EXPECT_THAT(refusal([](Spec& s) { s.merge_type = "maxpool2x2"; }),
                HasSubstr("is 'maxpool2x2'; supported are: flat, spatial, spatial_unpad"));
    EXPECT_THAT(refusal([](Spec& s) { s.pinpoints.pop_back(); }),
                HasSubstr("lists 9 numbers; it must be pairs"));
    EXPECT_THAT(refusal([](Spec& s) { s.pinpoints = {0, 28}; }), HasSubstr("must be between 1 and 65536"));
    EXPECT_THAT(refusal([](Spec& s) { s.pinpoints = {28, -56}; }), HasSubstr("must be between 1 and 65536"));
    EXPECT_THAT(refusal([](Spec& s) { s.pinpoints = {28, 2000000000}; }), HasSubstr("must be between"));
    EXPECT_THAT(refusal([](Spec& s) {
                    s.pinpoints = {56, 42};
                }),
                HasSubstr("56 x 42 pixels, which is not a number of tiles of 28"));
    EXPECT_THAT(refusal([](Spec& s) {
                    s.pinpoints = {28 * 70, 28 * 70};
                }),
                HasSubstr("1960 x 1960 pixels, which make 19744 tokens; the limit is 16384"));
    EXPECT_THAT(refusal([](Spec& s) { s.pinpoints.assign(6000, 28); }), HasSubstr("6000"));
}

TEST(TileRule, ANewlineOfAnotherWidthIsRefused) {
    test::EditedGguf file = test::EditedGguf::parse(test::random_mmproj(toy()));
    test::EditedTensor* newline = file.tensor("model.image_newline");
    ASSERT_NE(newline, nullptr);
    newline->shape = {95};
    newline->data.resize(95 * sizeof(float));
    EXPECT_THAT(inspect_vision(bytes_of(file.bytes())).status().message(),
                HasSubstr("model.image_newline has the shape [95]; [96] is needed"));
}

TEST(TileRule, ANewlineThatIsNoNumberIsRefused) {
    test::EditedGguf file = test::EditedGguf::parse(test::random_mmproj(toy()));
    const float bad = std::nanf("");
    std::memcpy(file.tensor("model.image_newline")->data.data() + 8, &bad, sizeof bad);
    const std::string bytes = file.bytes();
    const auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    const auto model = VisionModel::load_bytes(bytes_of(bytes), {}, *compute);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ((*model)->fixed_row(0).status().code(), Code::Corrupt);
    EXPECT_THAT((*model)->fixed_row(0).status().message(), HasSubstr("entry 2 of the row that the vision"));
}

TEST(TileRule, AnotherWayToTreatTheAspectIsRefused) {
    test::EditedGguf file = test::EditedGguf::parse(test::random_mmproj(toy()));
    file.key("clip.vision.image_aspect_ratio").set_text("anyres_max_9");
    EXPECT_THAT(inspect_vision(bytes_of(file.bytes())).status().message(),
                HasSubstr("image_aspect_ratio is 'anyres_max_9' in a file that lists resolutions"));
    file.key("clip.vision.image_aspect_ratio").set(GgufType::U32, std::uint32_t{3});
    EXPECT_FALSE(inspect_vision(bytes_of(file.bytes())).ok());
}

}  // namespace
}  // namespace clasp::model
