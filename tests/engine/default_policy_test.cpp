// The policy of requests that bring none: the profile of the tower, if the tower has its layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/default_policy.h"
#include "support/family_files.h"
#include "support/qwen_pair.h"

namespace clasp::engine {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

DefaultPolicy policy_of(const std::string& profile, std::size_t n_blocks, std::size_t native) {
    model::VisionInfo info;
    info.profile = profile;
    info.n_blocks = n_blocks;
    info.feature_layer = native;
    auto chosen = default_policy("/nowhere/model.gguf", &info);
    EXPECT_TRUE(chosen.ok()) << chosen.status().message();
    return std::move(chosen).value();
}

TEST(DefaultPolicy, IsTheTowersProfileWhereItsLayersAre) {
    EXPECT_EQ(policy_of("llava", 23, 22).policy.name, "llava");
    EXPECT_EQ(policy_of("llava", 24, 22).policy.name, "llava");
    EXPECT_EQ(policy_of("qwen2.5-vl", 32, 31).policy.name, "qwen2.5-vl");
    EXPECT_EQ(policy_of("", 24, 23).policy.name, "llava-by-depth");
    for (const DefaultPolicy& chosen :
         {policy_of("llava", 23, 22), policy_of("qwen2.5-vl", 32, 31), policy_of("", 24, 23)}) {
        EXPECT_EQ(chosen.note, "");
    }
}

TEST(DefaultPolicy, OfAShallowerTowerIsMappedByDepthAndSaysSo) {
    for (const auto& [profile, n_blocks] : {std::pair{"llava", 22U},
                                            {"llava", 4U},
                                            {"qwen2.5-vl", 31U},
                                            {"qwen2.5-vl", 4U},
                                            {"qwen2.5-vl", 1U}}) {
        SCOPED_TRACE(std::string(profile) + " " + std::to_string(n_blocks));
        const DefaultPolicy chosen = policy_of(profile, n_blocks, n_blocks - 1);
        EXPECT_EQ(chosen.policy.name, "llava-by-depth");
        EXPECT_EQ(policy_hash(chosen.policy), policy_hash(depth_profile(n_blocks, n_blocks - 1)));
        EXPECT_THAT(chosen.note,
                    HasSubstr("the profile " + std::string(profile) + " mixes vision layers up to"));
        EXPECT_THAT(chosen.note, HasSubstr("of which this tower has " + std::to_string(n_blocks)));
    }
}

// A question about a picture is answered with fusion, and the answer says whose mixes they are.
TEST(DefaultPolicy, OfSmallModelsAnswers) {
    const test::RandomLlama text = test::qwen_text(test::QwenKind::Qwen25);
    test::QwenMmprojSpec shallow = test::qwen_vision(test::QwenKind::Qwen25, text);
    shallow.n_blocks = 4;
    shallow.window_pattern = 2;
    const test::FamilyFiles qwen("shallow-qwen", text, test::random_qwen_mmproj(shallow));
    test::MmprojSpec clip = test::clip_family_vision();
    clip.n_blocks = 4;
    const test::FamilyFiles llava("shallow-clip", test::llava_family_text(), test::random_mmproj(clip));
    const std::string picture = test::picture(1, 168, 140);
    for (const test::FamilyFiles* files : {&qwen, &llava}) {
        const auto engine = files->load();
        ASSERT_NE(engine, nullptr);
        AskRequest asked = test::question_about(picture);
        asked.class_choice = "0";
        const Answer fused = test::answer_of(*engine, asked);
        EXPECT_EQ(fused.policy_name, "llava-by-depth");
        EXPECT_GT(fused.mix.size(), 1U);
        EXPECT_LE(fused.mix.back().layer, 3U);
        EXPECT_THAT(fused.notes, Contains(HasSubstr("its mixes are those of llava by depth")));
        asked.use_fusion = false;
        EXPECT_THAT(test::answer_of(*engine, asked).notes, Not(Contains(HasSubstr("by depth"))));
    }
}

}  // namespace
}  // namespace clasp::engine
