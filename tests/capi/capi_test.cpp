// The C header as its users see it; behaviour of the core itself is tested in its own folders.
#include "clasp/clasp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

TEST(CApi, VersionAndCodesHaveNames) {
    EXPECT_STREQ(clasp_version(), CLASP_VERSION_STRING);
    EXPECT_STREQ(clasp_code_name(CLASP_TOO_LARGE), "too_large");
}

TEST(CApi, PublishedScheduleComesBack) {
    clasp_schedule_options options = clasp_schedule_default_options();
    options.budget = "192";
    clasp_schedule* schedule = nullptr;
    clasp_error error;
    ASSERT_EQ(clasp_schedule_create(&options, &schedule, &error), CLASP_OK) << error.message;
    size_t n_stages = 0;
    const clasp_stage* stages = clasp_schedule_stages(schedule, &n_stages);
    ASSERT_EQ(n_stages, 3U);
    EXPECT_EQ(stages[0].layer, 2U);
    EXPECT_EQ(stages[0].keep, 300U);
    EXPECT_EQ(stages[2].keep, 110U);
    EXPECT_STREQ(clasp_schedule_source(schedule), "published");
    EXPECT_NEAR(clasp_schedule_average(schedule), 188.2, 0.05);
    size_t n_layers = 0;
    EXPECT_EQ(clasp_schedule_per_layer(schedule, &n_layers)[0], 576U);
    EXPECT_EQ(n_layers, 32U);
    double ratio = 0;
    const clasp_decoder_shape shape = clasp_decoder_shape_default();
    ASSERT_EQ(clasp_schedule_flops_ratio(schedule, &shape, 50, &ratio, &error), CLASP_OK);
    EXPECT_GT(ratio, 0.3);
    EXPECT_LT(ratio, 0.4);
    clasp_schedule_destroy(schedule);
}

TEST(CApi, ScheduleErrorsHaveCodeAndMessage) {
    clasp_schedule_options options = clasp_schedule_default_options();
    options.budget = "lots";
    clasp_schedule* schedule = nullptr;
    clasp_error error;
    EXPECT_EQ(clasp_schedule_create(&options, &schedule, &error), CLASP_INVALID_ARGUMENT);
    EXPECT_EQ(error.code, CLASP_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(error.message, "lots"), nullptr) << error.message;
    EXPECT_EQ(schedule, nullptr);
    EXPECT_EQ(clasp_schedule_create(nullptr, &schedule, nullptr), CLASP_INVALID_ARGUMENT);
    EXPECT_EQ(clasp_schedule_create(&options, nullptr, nullptr), CLASP_INVALID_ARGUMENT);
}

TEST(CApi, ForcedStagesAreTakenAsTheyAre) {
    const clasp_stage forced[] = {{1, 40}, {3, 10}};
    clasp_schedule_options options = clasp_schedule_default_options();
    options.n_visual = 100;
    options.n_layers = 8;
    options.forced = forced;
    options.n_forced = 2;
    clasp_schedule* schedule = nullptr;
    ASSERT_EQ(clasp_schedule_create(&options, &schedule, nullptr), CLASP_OK);
    size_t n_stages = 0;
    EXPECT_EQ(clasp_schedule_stages(schedule, &n_stages)[1].keep, 10U);
    EXPECT_STREQ(clasp_schedule_source(schedule), "forced");
    clasp_schedule_destroy(schedule);
}

TEST(CApi, PolicyGivesMixAndSplitPerClass) {
    clasp_policy* policy = nullptr;
    clasp_error error;
    ASSERT_EQ(clasp_policy_load("llava", &policy, &error), CLASP_OK) << error.message;
    EXPECT_STREQ(clasp_policy_name(policy), "llava");
    EXPECT_EQ(std::strlen(clasp_policy_hash(policy)), 64U);
    EXPECT_EQ(clasp_policy_class_count(policy), 9U);
    EXPECT_EQ(clasp_policy_default_class(policy), 8U);
    EXPECT_STREQ(clasp_policy_class_name(policy, 5), "Counting");
    EXPECT_DOUBLE_EQ(clasp_policy_split(policy, 5), 0.6);
    size_t n_layers = 0;
    const clasp_layer_weight* mix = clasp_policy_mix(policy, 5, &n_layers);
    ASSERT_EQ(n_layers, 3U);
    EXPECT_EQ(mix[2].layer, 22U);
    EXPECT_DOUBLE_EQ(mix[2].weight, 0.5);
    EXPECT_EQ(clasp_policy_class_name(policy, 9), nullptr);
    EXPECT_LT(clasp_policy_split(policy, 9), 0.0);
    EXPECT_EQ(clasp_policy_mix(policy, 9, &n_layers), nullptr);
    EXPECT_EQ(n_layers, 0U);
    clasp_policy_destroy(policy);

    EXPECT_EQ(clasp_policy_parse("{", 1, &policy, &error), CLASP_CORRUPT);
    EXPECT_EQ(clasp_policy_load("no-such-profile", &policy, &error), CLASP_NOT_FOUND);
}

TEST(CApi, LongMessagesAreCutVisibly) {
    const std::string path(2000, 'x');
    clasp_policy* policy = nullptr;
    clasp_error error;
    EXPECT_NE(clasp_policy_load(path.c_str(), &policy, &error), CLASP_OK);
    EXPECT_EQ(std::strlen(error.message), sizeof error.message - 1);
    EXPECT_STREQ(error.message + sizeof error.message - 4, "...");
}

TEST(CApi, FusesEqualAndUnequalGrids) {
    const float coarse[] = {1, 3, 5, 7};  // 2 x 2, one value each
    const float fine[16] = {};
    clasp_layer_view layers[2] = {};
    layers[0] = {coarse, CLASP_F32, 4, 1, 0, 2, 2};
    layers[1] = {fine, CLASP_F32, 16, 1, 0, 4, 4};
    const float weights[] = {0.5F, 0.5F};
    float out[16];
    clasp_error error;
    ASSERT_EQ(clasp_fuse(layers, weights, 2, CLASP_NEAREST, out, 16, nullptr, &error), CLASP_OK)
        << error.message;
    EXPECT_FLOAT_EQ(out[0], 0.5F);
    EXPECT_FLOAT_EQ(out[15], 3.5F);

    ASSERT_EQ(clasp_fuse(layers, weights, 1, CLASP_BILINEAR, out, 4, nullptr, &error), CLASP_OK)
        << error.message;
    EXPECT_FLOAT_EQ(out[3], 3.5F);

    layers[0].type = static_cast<clasp_float_type>(3);
    EXPECT_EQ(clasp_fuse(layers, weights, 2, CLASP_NEAREST, out, 16, nullptr, &error),
              CLASP_INVALID_ARGUMENT);
}

class Selector : public testing::Test {
   protected:
    void SetUp() override { ASSERT_EQ(clasp_selector_create(&selector_, nullptr), CLASP_OK); }
    void TearDown() override { clasp_selector_destroy(selector_); }

    clasp_selector* selector_ = nullptr;
    // Two directions, three tokens each; token 0 has the highest score.
    const std::vector<float> features_ = {1, 0, 1, 0.1F, 1, -0.1F, 0, 1, 0.1F, 1, -0.1F, 1};
    const std::vector<float> scores_ = {0.9F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F};

    clasp_select_input input() const {
        clasp_select_input input = {};
        input.features = features_.data();
        input.width = 2;
        input.feature_stride = 2;
        input.rows = 6;
        input.scores = scores_.data();
        input.n_scores = 6;
        return input;
    }
};

TEST_F(Selector, KeepsAPivotAndACoverageToken) {
    clasp_select_options options = clasp_select_default_options();
    options.budget = 2;
    const clasp_select_input request = input();
    clasp_error error;
    ASSERT_EQ(clasp_selector_run(selector_, &request, &options, nullptr, &error), CLASP_OK) << error.message;
    size_t count = 0;
    EXPECT_EQ(clasp_selector_pivots(selector_, &count)[0], 0U);
    EXPECT_EQ(count, 1U);
    clasp_selector_coverage(selector_, &count);
    EXPECT_EQ(count, 1U);
    clasp_selector_kept(selector_, &count);
    EXPECT_EQ(count, 2U);
    clasp_selector_objective(selector_, &count);
    EXPECT_GE(count, 1U);
}

TEST_F(Selector, GramInFeaturesInAndMasses) {
    std::vector<float> gram(36);
    clasp_error error;
    ASSERT_EQ(clasp_selector_gram(selector_, features_.data(), 6, 2, 2, nullptr, gram.data(), 6, &error),
              CLASP_OK)
        << error.message;
    EXPECT_NEAR(gram[0], 1.0F, 1e-6F);
    clasp_select_input request = input();
    request.features = nullptr;
    request.gram = gram.data();
    request.gram_stride = 6;
    clasp_select_options options = clasp_select_default_options();
    options.budget = 2;
    ASSERT_EQ(clasp_selector_run(selector_, &request, &options, nullptr, &error), CLASP_OK) << error.message;
    std::vector<float> masses(6, 1.0F);
    ASSERT_EQ(clasp_selector_assign_masses(selector_, gram.data(), 6, 6, nullptr, 0, masses.data(), &error),
              CLASP_OK)
        << error.message;
    float total = 0;
    for (const float mass : masses) total += mass;
    EXPECT_FLOAT_EQ(total, 6.0F);
    EXPECT_FLOAT_EQ(masses[0], 3.0F + 0.0F);
}

TEST_F(Selector, BadInputIsAnErrorAndLeavesNoPlan) {
    clasp_select_options options = clasp_select_default_options();
    options.budget = 2;
    clasp_select_input request = input();
    clasp_error error;
    ASSERT_EQ(clasp_selector_run(selector_, &request, &options, nullptr, &error), CLASP_OK);
    std::vector<float> bad = features_;
    bad[5] = std::numeric_limits<float>::quiet_NaN();
    request.features = bad.data();
    EXPECT_EQ(clasp_selector_run(selector_, &request, &options, nullptr, &error), CLASP_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(error.message, "2"), nullptr) << error.message;
    size_t count = 9;
    clasp_selector_kept(selector_, &count);
    EXPECT_EQ(count, 0U);

    request = input();
    request.scores = nullptr;
    EXPECT_EQ(clasp_selector_run(selector_, &request, &options, nullptr, &error), CLASP_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message, "input->scores is NULL");
    EXPECT_EQ(clasp_selector_run(nullptr, &request, &options, nullptr, &error), CLASP_INVALID_ARGUMENT);
}

TEST(CApi, PoolsAreBounded) {
    clasp_pool* pool = nullptr;
    clasp_error error;
    ASSERT_EQ(clasp_pool_create(2, &pool, &error), CLASP_OK);
    clasp_pool_destroy(pool);
    EXPECT_EQ(clasp_pool_create(5000, &pool, &error), CLASP_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message, "n_threads is 5000, the limit is 1024");
    clasp_pool_destroy(nullptr);
}

}  // namespace
