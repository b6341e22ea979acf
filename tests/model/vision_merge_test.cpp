// An encoder whose rows a method merges on the way.
#include <gtest/gtest.h>

#include <functional>

#include "model/vision_model.h"
#include "support/random_mmproj.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

using methods::BlockInput;
using methods::MergeSource;
using methods::Plan;
using methods::Reason;
using test::load_vision;
using test::LoadedVision;
using test::relative_error;

using Hook = std::function<void(const BlockInput& input, Plan& plan)>;

class HookRun : public methods::MethodRun {
   public:
    HookRun(std::vector<std::size_t> blocks, bool after_block, Hook hook) : hook_(std::move(hook)) {
        program_.encoder_blocks = std::move(blocks);
        program_.merges_after_block = after_block;
        program_.is_adaptive = true;
        program_.encoder.block_keys = true;
        program_.encoder.block_logits = true;
        program_.encoder.block_hidden = true;
    }
    Status inside_encoder(const BlockInput& input, Plan& plan) override {
        hook_(input, plan);
        return ok_status();
    }

   private:
    Hook hook_;
};

LoadedVision tower() {
    test::MmprojSpec spec;
    spec.image_size = 126;
    spec.n_blocks = 5;
    return load_vision(spec, {.weights = VisionWeights::F32});
}

MergedLayers encode_merging(LoadedVision& loaded, HookRun& run) {
    auto merged = loaded.session->encode_merging(loaded.pixels, {.layers = {4}}, run, {.keep = 1});
    EXPECT_TRUE(merged.ok()) << merged.status().message();
    return merged.ok() ? std::move(merged).value() : MergedLayers();
}

void keep_rows(std::size_t n, Plan& plan) {
    for (TokenIndex row = 0; row < n; ++row) plan.keep(row, Reason::Coverage);
}

TEST(VisionMerge, KeepingEveryRowChangesNoBit) {
    LoadedVision loaded = tower();
    const auto plain = loaded.session->encode(loaded.pixels, {.layers = {1, 3, 4}, .keys = {1}});
    ASSERT_TRUE(plain.ok());
    for (const bool after_block : {false, true}) {
        HookRun run({1, 3}, after_block, [&](const BlockInput& input, Plan& plan) {
            EXPECT_EQ(input.n_rows, 82U);
            EXPECT_EQ(input.members[1], std::vector<TokenIndex>{0});
            if (!after_block && input.block == 1) {
                const std::size_t n = input.keys.rows * input.keys.width;
                EXPECT_EQ(std::vector<float>(input.keys.data, input.keys.data + n), plain->keys[0].values);
                EXPECT_EQ(input.logits.size(), 82U * 82U);
            }
            if (after_block && input.block == 1) {
                const float* patches = input.hidden.data + input.hidden.width;
                const std::vector<float>& wanted = plain->layers[0].values;
                EXPECT_EQ(std::vector<float>(patches, patches + wanted.size()), wanted);
            }
            keep_rows(input.n_rows, plan);
        });
        const MergedLayers merged = encode_merging(loaded, run);
        EXPECT_EQ(merged.layers.layers[0].values, plain->layers[2].values);
        EXPECT_EQ(merged.layers.layers[0].class_row, plain->layers[2].class_row);
        EXPECT_EQ(merged.members.size(), 81U);
    }
}

// One row of size 2 is seen by all others as two equal rows of size 1 are.
TEST(VisionMerge, ARowOfSizeTwoIsTwoEqualRows) {
    LoadedVision loaded = tower();
    const std::vector<MergeSource> mean = {{5, 0.5F}, {9, 0.5F}};
    HookRun twins({0}, false, [&](const BlockInput& input, Plan& plan) {
        for (TokenIndex row = 0; row < input.n_rows; ++row) {
            if (row == 5 || row == 9) {
                plan.merge(row, mean);
            } else {
                plan.keep(row, Reason::Coverage);
            }
        }
    });
    HookRun one({0}, false, [&](const BlockInput& input, Plan& plan) {
        for (TokenIndex row = 0; row < input.n_rows; ++row) {
            if (row == 9) continue;
            if (row == 5) {
                plan.merge(row, mean);
            } else {
                plan.keep(row, Reason::Coverage);
            }
            plan.sizes.push_back(row == 5 ? 2.0F : 1.0F);
        }
    });
    const MergedLayers wide = encode_merging(loaded, twins);
    const MergedLayers narrow = encode_merging(loaded, one);
    ASSERT_EQ(narrow.members.size(), 80U);
    EXPECT_EQ(narrow.members[4], (std::vector<TokenIndex>{4, 8}));
    const std::size_t width = loaded.model->info().width;
    // The twins stand for the same patches, so they stand side by side.
    std::vector<float> expected = wide.layers.layers[0].values;
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(5 * width),
                   expected.begin() + static_cast<std::ptrdiff_t>(6 * width));
    EXPECT_LT(relative_error(narrow.layers.layers[0].values, expected), 2e-3);
}

TEST(VisionMerge, RowsGoOnByTheirFirstPatch) {
    LoadedVision loaded = tower();
    HookRun reversed({2}, false, [&](const BlockInput& input, Plan& plan) {
        plan.keep(0, Reason::Coverage);
        for (std::size_t row = input.n_rows - 1; row > 0; --row) {
            plan.keep(static_cast<TokenIndex>(row), Reason::Coverage);
        }
    });
    const auto plain = loaded.session->encode(loaded.pixels, {.layers = {4}});
    const MergedLayers merged = encode_merging(loaded, reversed);
    EXPECT_EQ(merged.members.front(), std::vector<TokenIndex>{0});
    EXPECT_LT(relative_error(merged.layers.layers[0].values, plain->layers[0].values), 1e-4);
}

TEST(VisionMerge, APlanThatNamesARowTwiceIsAFault) {
    LoadedVision loaded = tower();
    HookRun twice({2}, false, [&](const BlockInput& /*input*/, Plan& plan) {
        plan.keep(0, Reason::Coverage);
        plan.keep(0, Reason::Coverage);
    });
    const auto merged = loaded.session->encode_merging(loaded.pixels, {.layers = {4}}, twice, {.keep = 1});
    EXPECT_EQ(merged.status().code(), Code::Internal);
}

}  // namespace
}  // namespace clasp::model
