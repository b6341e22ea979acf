#include "route/stress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clasp::route {
namespace {

constexpr std::size_t kClasses = 9;
constexpr std::size_t kDefault = 8;

std::vector<std::size_t> all_classes(std::size_t n) {
    std::vector<std::size_t> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = i % kClasses;
    return out;
}

TEST(ForceDefault, ExactShareAndNested) {
    const std::vector<std::size_t> truth(1000, 3);
    std::vector<bool> before(truth.size(), false);
    for (const double ratio : {0.0, 0.05, 0.2, 0.5, 1.0}) {
        const auto forced = force_default(truth, kDefault, ratio, 42);
        ASSERT_TRUE(forced.ok());
        std::size_t n = 0;
        for (std::size_t i = 0; i < truth.size(); ++i) {
            const bool hit = (*forced)[i] == kDefault;
            if (!hit) {
                EXPECT_EQ((*forced)[i], truth[i]);
            }
            EXPECT_TRUE(hit || !before[i]);
            before[i] = hit;
            n += hit ? 1 : 0;
        }
        EXPECT_EQ(n, static_cast<std::size_t>(ratio * 1000.0 + 0.5));
    }
}

TEST(ForceErrors, AlwaysWrongNeverDefaultAndEven) {
    const std::vector<std::size_t> truth = all_classes(9000);
    const auto forced = force_errors(truth, kClasses, kDefault, 1.0, 7);
    ASSERT_TRUE(forced.ok());
    std::vector<std::size_t> counts(kClasses, 0);
    for (std::size_t i = 0; i < truth.size(); ++i) {
        EXPECT_NE((*forced)[i], truth[i]);
        EXPECT_NE((*forced)[i], kDefault);
        ++counts[(*forced)[i]];
    }
    for (std::size_t c = 0; c < kDefault; ++c) EXPECT_NEAR(static_cast<double>(counts[c]), 1125.0, 150.0);
}

// Every position of the true class relative to the default, since the choice steps over both.
TEST(ForceErrors, EveryWrongClassIsReachable) {
    for (std::size_t default_class = 0; default_class < 4; ++default_class) {
        for (std::size_t truth = 0; truth < 4; ++truth) {
            const std::vector<std::size_t> same(400, truth);
            const auto forced = force_errors(same, 4, default_class, 1.0, 3);
            std::vector<bool> seen(4, false);
            for (const std::size_t c : *forced) seen[c] = true;
            for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(seen[c], c != truth && c != default_class);
        }
    }
}

TEST(ForceErrors, ShareSeedAndLimits) {
    const std::vector<std::size_t> truth = all_classes(1000);
    const auto a = force_errors(truth, kClasses, kDefault, 0.1, 1);
    EXPECT_EQ(*a, *force_errors(truth, kClasses, kDefault, 0.1, 1));
    EXPECT_NE(*a, *force_errors(truth, kClasses, kDefault, 0.1, 2));
    std::size_t n_right = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) n_right += truth[i] == (*a)[i] ? 1U : 0U;
    EXPECT_EQ(n_right, 900U);
    EXPECT_FALSE(force_errors(truth, kClasses, kDefault, 1.1, 1).ok());
    EXPECT_FALSE(force_errors(truth, 5, 4, 0.1, 1).ok());
    EXPECT_FALSE(force_errors({}, 2, 1, 0.1, 1).ok());
    EXPECT_FALSE(force_default(truth, kDefault, -0.1, 1).ok());
}

}  // namespace
}  // namespace clasp::route
