#include "eval/ablation.h"

#include <gtest/gtest.h>

#include <set>

namespace clasp::eval {
namespace {

AblationBase base() {
    AblationBase base;
    base.policy = find_profile("llava").value();
    return base;
}

TEST(Ablations, AreValidStartUnprunedAndDifferInEveryRow) {
    for (const Ablation& ablation : ablations()) {
        const std::vector<Variant> variants = ablation.variants(base());
        ASSERT_GE(variants.size(), 3U) << ablation.name;
        EXPECT_TRUE(variants.front().is_vanilla());
        std::set<std::string> keys;
        std::set<std::string> labels;
        for (const Variant& variant : variants) {
            EXPECT_TRUE(check_variant(variant).ok()) << ablation.name << ": " << variant.label;
            EXPECT_TRUE(keys.insert(variant_key(variant, 16)).second)
                << ablation.name << ": " << variant.label;
            EXPECT_TRUE(labels.insert(variant.label).second) << ablation.name << ": " << variant.label;
        }
    }
}

TEST(Ablations, HaveThePapersValues) {
    EXPECT_EQ((*find_ablation("layers"))->variants(base()).size(), 1U + 5U);
    EXPECT_EQ((*find_ablation("split"))->variants(base()).size(), 1U + 10U);
    EXPECT_EQ((*find_ablation("iterations"))->variants(base()).size(), 1U + 5U);
    EXPECT_EQ((*find_ablation("router-robustness"))->variants(base()).size(), 1U + 1U + 4U + 5U);
    EXPECT_EQ((*find_ablation("seeds"))->variants(base()).back().select_seed, 46U);
    const std::vector<Variant> layers = (*find_ablation("layers"))->variants(base());
    EXPECT_EQ(layers[2].policy->classes[4].weights,
              (std::vector<LayerWeight>{{5, 0.2}, {15, 0.3}, {22, 0.5}}));
    EXPECT_FALSE(find_ablation("nonsense").ok());
}

TEST(Ablations, RepeatForEveryBudget) {
    AblationBase wide = base();
    wide.budgets = {"192", "128", "64"};
    EXPECT_EQ((*find_ablation("static-fusion"))->variants(wide).size(), 1U + 3U * 2U);
}

TEST(Ablations, FitTowersOfAnyDepth) {
    AblationBase shallow = base();
    shallow.n_vision_layers = 6;
    shallow.feature_layer = 5;
    EXPECT_EQ(scaled_layer(22, shallow), 5U);
    EXPECT_EQ(scaled_layer(0, shallow), 0U);
    for (const Ablation& ablation : ablations()) {
        if (ablation.name != "layers" && ablation.name != "static-fusion") continue;
        for (const Variant& variant : ablation.variants(shallow)) {
            if (variant.is_vanilla() || variant.label == "adaptive") continue;
            const auto mix = mix_for(*variant.policy, 0);
            ASSERT_TRUE(mix.ok()) << mix.status().message();
            EXPECT_LE(required_depth(*mix), 6U);
        }
    }
    EXPECT_EQ(scaled_layer(23, base()), 23U);
}

}  // namespace
}  // namespace clasp::eval
