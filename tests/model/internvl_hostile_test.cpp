// InternVL's vision files: what they say, and files that are not as they should be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

test::MmprojSpec toy_internvl(const test::InternvlParts& parts = {}) {
    test::MmprojSpec spec = test::internvl_mmproj(parts);
    spec.width = 32;
    spec.n_heads = 2;
    spec.ffn_width = 64;
    spec.n_blocks = 2;
    spec.projector_width = 32;
    spec.output_width = 32;
    return spec;
}

std::string error_of(const std::string& file) {
    const auto info = inspect_vision(bytes_of(file));
    return info.ok() ? "" : info.status().message();
}

std::string edited(const std::function<void(test::EditedGguf&)>& change) {
    test::EditedGguf file = test::EditedGguf::parse(test::random_mmproj(toy_internvl()));
    change(file);
    return file.bytes();
}

std::string with_number(const char* key, std::uint32_t value) {
    return edited([&](test::EditedGguf& file) { file.key(key).set(GgufType::U32, value); });
}

TEST(InternvlFile, SaysWhatItIs) {
    const auto info = inspect_vision(bytes_of(test::random_mmproj(toy_internvl())));
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->family, "internvit");
    EXPECT_EQ(info->projector_type, "internvl");
    EXPECT_EQ(info->grid, (Grid{2, 2}));
    EXPECT_EQ(info->capabilities.merge, 2U);
    EXPECT_TRUE(info->capabilities.has_class_token);
    EXPECT_FALSE(info->capabilities.merges_inside);
    EXPECT_EQ(info->feature_layer, 1U);
    EXPECT_EQ(info->llama_cpp_feature_layer, 1U) << "llama.cpp runs all blocks here";
}

TEST(InternvlFile, TilesAreThoseOfTheKeysOrOneToTwelve) {
    const auto pieces = [](const test::InternvlParts& parts, PixelSize picture) {
        const std::string file = test::random_mmproj(toy_internvl(parts));
        const auto layout = plan_vision(bytes_of(file), picture, {});
        EXPECT_TRUE(layout.ok()) << layout.status().message();
        return layout.ok() ? layout->n_pieces : 0;
    };
    EXPECT_EQ(pieces({}, {80, 60}), 13U);
    EXPECT_EQ(pieces({.max_tiles = 6}, {80, 60}), 7U);
    EXPECT_EQ(pieces({.max_tiles = 1}, {80, 60}), 1U);
    EXPECT_EQ(pieces({.min_tiles = 4, .max_tiles = 4}, {80, 60}), 5U);
    EXPECT_EQ(pieces({.min_tiles = 4, .max_tiles = 4}, {10, 10}), 5U);
    EXPECT_EQ(pieces({}, {1, 1}), 1U);
    EXPECT_EQ(pieces({}, {1, 65535}), 13U);
}

TEST(InternvlFile, AskedForFewerTilesItMakesFewer) {
    const std::string file = test::random_mmproj(toy_internvl({.min_tiles = 2}));
    const auto plan = [&](std::size_t max_tiles) {
        return plan_vision(bytes_of(file), {100, 80}, {.detail = {.max_tiles = max_tiles}});
    };
    EXPECT_EQ(plan(0)->n_pieces, 13U);
    EXPECT_EQ(plan(6)->n_pieces, 5U);
    EXPECT_EQ(plan(20)->n_pieces, 21U) << "more than the file says is a choice too";
    EXPECT_EQ(plan(1).status().message(),
              "the vision tower cuts pictures into at least 2 tiles; at most 1 cannot be");
    EXPECT_THAT(plan(5000).status().message(),
                HasSubstr("5000 tiles of 56 x 56 pixels and a thumbnail make"));
    EXPECT_EQ(plan(5000).status().code(), Code::InvalidArgument);
}

TEST(InternvlHostile, KeysThatMakeNoSenseAreNamed) {
    EXPECT_THAT(error_of(with_number("clip.vision.projector.scale_factor", 3)),
                HasSubstr("scale_factor is 3, which does not divide the 4 x 4 patches of a tile"));
    EXPECT_THAT(error_of(with_number("clip.vision.projector.scale_factor", 0)),
                HasSubstr("scale_factor is 0; it must be between 1 and 4"));
    EXPECT_THAT(error_of(with_number("clip.vision.projector.scale_factor", 8)),
                HasSubstr("scale_factor is 8; it must be between 1 and 4"));
    EXPECT_THAT(error_of(edited([](test::EditedGguf& file) {
                    std::erase_if(file.keys, [](const test::EditedKey& key) {
                        return key.name == "clip.vision.projector.scale_factor";
                    });
                })),
                HasSubstr("clip.vision.projector.scale_factor is missing"));
    EXPECT_THAT(error_of(with_number("clip.vision.preproc_max_tiles", 0)),
                HasSubstr("preproc_max_tiles is 0; it must be between 1 and 1024"));
    EXPECT_THAT(error_of(with_number("clip.vision.preproc_max_tiles", 5000)),
                HasSubstr("preproc_max_tiles is 5000; it must be between 1 and 1024"));
    EXPECT_THAT(error_of(with_number("clip.vision.preproc_min_tiles", 13)),
                HasSubstr("preproc_min_tiles is 13, above clip.vision.preproc_max_tiles, which is 12"));
    // Tiles so many or so large that a picture would be beyond every limit.
    test::MmprojSpec large = toy_internvl({.max_tiles = 1000});
    large.image_size = 448;
    large.patch_size = 112;
    EXPECT_THAT(error_of(test::random_mmproj(large)),
                HasSubstr("1000 tiles of 448 x 448 pixels and a thumbnail make 4004 tokens of 200704000 "
                          "pixels; the limits are 16384 and 50000000"));
}

TEST(InternvlHostile, EveryMissingTensorIsNamed) {
    const std::string file = test::random_mmproj(toy_internvl({.qk_norm_width = 32}));
    ASSERT_EQ(error_of(file), "");
    const auto reader = GgufReader::parse(bytes_of(file));
    for (const GgufTensor& tensor : reader->tensors()) {
        test::EditedGguf without = test::EditedGguf::parse(file);
        const std::string name(tensor.name);
        std::erase_if(without.tensors, [&](const test::EditedTensor& other) { return other.name == name; });
        // Without it in the first block, that of the others is what is not known.
        std::string blamed = name;
        for (const char* decides :
             {"v.blk.0.ln1.bias", "v.blk.0.attn_q.bias", "v.blk.0.attn_q_norm.weight"}) {
            if (name == decides) blamed = "is none that InternVL's tower is known to have";
        }
        EXPECT_THAT(error_of(without.bytes()), HasSubstr(blamed)) << name;
    }
}

TEST(InternvlHostile, ShapesThatDoNotFitAreNamed) {
    const auto resized = [](const char* name, std::vector<std::int64_t> shape) {
        return edited([&](test::EditedGguf& file) {
            test::EditedTensor* tensor = file.tensor(name);
            if (tensor == nullptr) {
                file.tensors.push_back({name, {}, GGML_TYPE_F32, ""});
                tensor = &file.tensors.back();
            }
            tensor->shape = shape;
            std::size_t n = sizeof(float);
            for (const std::int64_t extent : shape) n *= static_cast<std::size_t>(extent);
            tensor->data.resize(n);
        });
    };
    EXPECT_THAT(error_of(resized("v.position_embd.weight", {32, 16})),
                HasSubstr("v.position_embd.weight has the shape [32, 16]; [32, 17] is needed"));
    EXPECT_THAT(error_of(resized("v.position_embd.weight", {32, 1025})),
                HasSubstr("v.position_embd.weight has the shape [32, 1025]; [32, 17] is needed"));
    EXPECT_THAT(error_of(resized("v.blk.0.attn_q_norm.weight", {24})),
                HasSubstr("v.blk.0.attn_q_norm.weight has 24 factors; a row has 32, a head 16"));
    EXPECT_THAT(error_of(resized("v.blk.0.attn_q_norm.weight", {16})),
                HasSubstr("tensor v.blk.0.attn_k_norm.weight is missing"));
    EXPECT_THAT(error_of(resized("v.blk.1.ls2.weight", {16})),
                HasSubstr("v.blk.1.ls2.weight has the shape [16]; [32] is needed"));
    EXPECT_THAT(error_of(resized("mm.model.mlp.0.weight", {32})),
                HasSubstr("mm.model.mlp.0.weight has the shape [32]; [128] is needed"));
    EXPECT_THAT(error_of(resized("v.post_ln.weight", {32})),
                HasSubstr("tensor v.post_ln.weight is none that InternVL's tower is known to have"));
    // What belongs to no part of the tower is left out and said.
    const std::string more = resized("a.blk.0.weight", {4});
    EXPECT_EQ(error_of(more), "");
    EXPECT_EQ(inspect_vision(bytes_of(more))->note,
              "tensors of the vision file that InternVL does not have are left out: a.blk.0.weight");
}

// Whatever one byte or one number of the header becomes: an error or a working tower.
TEST(InternvlHostile, DamagedHeadersAreSurvived) {
    const std::string file = test::random_mmproj(toy_internvl({.min_tiles = 1, .max_tiles = 4}));
    const auto reader = GgufReader::parse(bytes_of(file));
    const auto n_header = static_cast<std::size_t>(
        reinterpret_cast<const char*>(reader->tensors().front().data.data()) - file.data());
    std::size_t n_errors = 0;
    const auto survive = [&](const std::string& damaged) {
        for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
            const auto layout = plan_vision(bytes_of(damaged), {300, 200}, {.compat = compat});
            if (!layout.ok()) {
                ++n_errors;
            } else {
                ASSERT_LE(layout->n_tokens(), 1U << 14);
            }
        }
    };
    for (std::size_t i = 0; i + 8 <= n_header; ++i) {
        std::string flipped = file;
        flipped[i] = static_cast<char>(flipped[i] ^ 0x41);
        survive(flipped);
        for (const std::uint64_t value : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 31}) {
            std::string damaged = file;
            std::memcpy(damaged.data() + i, &value, sizeof(value));
            survive(damaged);
        }
    }
    EXPECT_GT(n_errors, n_header);
}

}  // namespace
}  // namespace clasp::model
