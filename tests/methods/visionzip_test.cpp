#include "methods/visionzip.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "token_case.h"

namespace clasp::methods {
namespace {

using namespace testing;

// The published steps on plain vectors.
Rows reference(const Rows& features, const Row& class_feature, const Rows& keys,
               const std::vector<float>& attention, std::size_t n_dominant, std::size_t n_contextual) {
    const std::vector<TokenIndex> order = by_score(attention);
    std::vector<TokenIndex> dominant(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_dominant));
    std::sort(dominant.begin(), dominant.end());
    Rows out = {class_feature};
    std::vector<TokenIndex> rest;
    for (TokenIndex i = 0; i < features.size(); ++i) {
        if (std::binary_search(dominant.begin(), dominant.end(), i)) {
            out.push_back(features[i]);
        } else {
            rest.push_back(i);
        }
    }
    const std::size_t step = std::max<std::size_t>(1, rest.size() / n_contextual);
    std::vector<Row> sums(n_contextual, Row(features[0].size(), 0.0));
    std::vector<double> counts(n_contextual, 0.0);
    for (std::size_t position = 0; position < rest.size(); ++position) {
        if (position % step == 0 && position / step < n_contextual) continue;
        std::size_t best = 0;
        for (std::size_t t = 1; t < n_contextual; ++t) {
            if (cosine(keys[rest[position]], keys[rest[t * step]]) >
                cosine(keys[rest[position]], keys[rest[best * step]])) {
                best = t;
            }
        }
        add(sums[best], 1.0, features[rest[position]]);
        counts[best] += 1.0;
    }
    for (std::size_t t = 0; t < n_contextual; ++t) {
        Row token = features[rest[t * step]];
        add(token, 1.0 / std::max(counts[t], 1.0), sums[t]);
        out.push_back(token);
    }
    return out;
}

TEST(Visionzip, AgreesWithTheStepsOnPlainVectors) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const std::vector<float> features = random_numbers(60 * 12, seed);
        const std::vector<float> keys = random_numbers(60 * 5, seed + 100);
        const std::vector<float> attention = random_attention(60, seed + 200);
        const std::vector<float> class_feature = random_numbers(12, seed + 300);
        const Cosines key_cosines = cosines(keys, 5);
        const auto plan = visionzip(attention, key_cosines.view(), 32, {});
        ASSERT_TRUE(plan.ok());
        const Row class_row(class_feature.begin(), class_feature.end());
        expect_near(applied(*plan, as_rows(features, 12), class_row),
                    reference(as_rows(features, 12), class_row, as_rows(keys, 5), attention, 26, 5));
    }
}

TEST(Visionzip, TargetsAreEvenlySpacedAmongTheRest) {
    // 54 dominant with the class token and 10 contextual: 523 patches left, every 52nd of them a target.
    const std::vector<float> keys = random_numbers(576 * 4, 1);
    std::vector<float> attention(576, 0.0F);
    for (std::size_t i = 523; i < 576; ++i) attention[i] = 0.01F;
    const auto plan = visionzip(attention, cosines(keys, 4).view(), 64, {});
    ASSERT_TRUE(plan.ok());
    ASSERT_EQ(plan->size(), 64U);
    EXPECT_EQ(plan->kept[0], kClassToken);
    for (std::size_t i = 0; i < 53; ++i) EXPECT_EQ(plan->kept[1 + i], 523 + i);
    for (std::size_t t = 0; t < 10; ++t) EXPECT_EQ(plan->kept[54 + t], 52 * t);
}

TEST(Visionzip, SplitsTheBudgetAsPublished) {
    const std::vector<float> keys = random_numbers(576 * 4, 2);
    const std::vector<float> attention = random_attention(576, 3);
    const Cosines key_cosines = cosines(keys, 4);
    const std::vector<std::pair<std::size_t, std::size_t>> published = {
        {64, 10}, {128, 20}, {192, 30}, {32, 5}};
    for (const auto& [budget, contextual] : published) {
        const auto plan = visionzip(attention, key_cosines.view(), budget, {});
        EXPECT_EQ(
            static_cast<std::size_t>(std::count(plan->reasons.begin(), plan->reasons.end(), Reason::Merged)),
            contextual);
    }
}

TEST(Visionzip, AMeanHasWeightOneAndTheSumTwo) {
    const std::vector<float> keys = random_numbers(40 * 4, 4);
    const std::vector<float> attention = random_attention(40, 5);
    const Cosines key_cosines = cosines(keys, 4);
    for (const VisionzipMerge merge : {VisionzipMerge::Sum, VisionzipMerge::Mean}) {
        const auto plan = visionzip(attention, key_cosines.view(), 16, {0.2, false, merge});
        ASSERT_TRUE(plan.ok());
        for (std::size_t i = 13; i < 16; ++i) {
            ASSERT_GT(plan->sources(i).size(), 1U);
            EXPECT_NEAR(total_weight(*plan, i), merge == VisionzipMerge::Sum ? 2.0 : 1.0, 1e-5);
        }
    }
}

TEST(Visionzip, EveryPatchGoesIntoExactlyOneToken) {
    const std::vector<float> keys = random_numbers(90 * 4, 6);
    const auto plan = visionzip(random_attention(90, 7), cosines(keys, 4).view(), 20, {});
    std::vector<TokenIndex> sources;
    for (std::size_t i = 0; i < plan->size(); ++i) {
        if (plan->sources(i).empty()) sources.push_back(plan->kept[i]);
        for (const MergeSource& source : plan->sources(i)) sources.push_back(source.row);
    }
    std::sort(sources.begin(), sources.end());
    ASSERT_EQ(sources.size(), 91U);
    for (TokenIndex i = 0; i < 90; ++i) EXPECT_EQ(sources[i], i);
    EXPECT_EQ(sources.back(), kClassToken);
}

}  // namespace
}  // namespace clasp::methods
