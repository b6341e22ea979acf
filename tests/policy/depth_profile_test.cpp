// The profile for vision towers that the paper does not name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "clasp/policy.h"

namespace clasp {
namespace {

using testing::ElementsAre;

std::set<std::size_t> layers_of(const Policy& policy) {
    std::set<std::size_t> layers;
    for (const PolicyClass& entry : policy.classes) {
        for (const LayerWeight& weight : entry.weights) layers.insert(weight.layer);
    }
    return layers;
}

// LLaVA's own layers are 3 5 12 14 15 17 18 19 20 22.
TEST(DepthProfile, KeepsThePlaceOfALayerInTheTower) {
    EXPECT_THAT(layers_of(depth_profile(23, 22)), ElementsAre(3, 5, 12, 14, 15, 17, 18, 19, 20, 22));
    EXPECT_THAT(layers_of(depth_profile(24, 23)), ElementsAre(3, 5, 13, 15, 16, 18, 19, 20, 21, 23));
    EXPECT_THAT(layers_of(depth_profile(45, 44)), ElementsAre(6, 10, 24, 28, 30, 34, 36, 38, 40, 44));
    EXPECT_THAT(layers_of(depth_profile(27, 26)), ElementsAre(4, 6, 14, 17, 18, 20, 21, 22, 24, 26));
    EXPECT_THAT(layers_of(depth_profile(32, 31)), ElementsAre(4, 7, 17, 20, 21, 24, 25, 27, 28, 31));
}

TEST(DepthProfile, IsLlavaAtItsOwnDepth) {
    const Policy llava = find_profile("llava").value();
    const Policy same = depth_profile(24, 22);
    for (std::size_t id = 0; id < llava.classes.size(); ++id) {
        const Mix wanted = mix_for(llava, id).value();
        const Mix mix = mix_for(same, id).value();
        ASSERT_EQ(mix.size(), wanted.size());
        for (std::size_t i = 0; i < mix.size(); ++i) {
            EXPECT_EQ(mix[i].layer, wanted[i].layer);
            EXPECT_EQ(mix[i].weight, wanted[i].weight);
        }
        EXPECT_EQ(same.classes[id].split, llava.classes[id].split);
    }
}

TEST(DepthProfile, IsValidForEveryTower) {
    for (std::size_t n_blocks = 1; n_blocks <= 64; ++n_blocks) {
        const Policy policy = depth_profile(n_blocks, n_blocks - 1);
        EXPECT_TRUE(validate(policy).ok()) << n_blocks << ": " << validate(policy).message();
        EXPECT_LT(*layers_of(policy).rbegin(), n_blocks);
    }
}

}  // namespace
}  // namespace clasp
