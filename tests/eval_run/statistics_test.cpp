// Statistics against hand-computed examples, and properties that must hold for any sample.
#include "eval/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace clasp::eval {
namespace {

// Every item is a cluster.
Clusters each_alone(std::size_t n_items) {
    Clusters clusters = {std::vector<std::size_t>(n_items), n_items};
    std::iota(clusters.of_item.begin(), clusters.of_item.end(), std::size_t{0});
    return clusters;
}

TEST(Loyalty, CountsEqualAnswersWhateverIsCorrect) {
    const std::vector<std::string> unpruned = {"red", "two", "yes", "a dog"};
    EXPECT_DOUBLE_EQ(loyalty(unpruned, unpruned), 1.0);
    EXPECT_DOUBLE_EQ(loyalty(std::vector<std::string>{" red\n", "three", "yes", "A dog"}, unpruned), 0.5);
    EXPECT_DOUBLE_EQ(loyalty({}, {}), 0.0);
}

TEST(Moments, HandComputed) {
    const std::array values = {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
    EXPECT_DOUBLE_EQ(mean(values), 5.0);
    EXPECT_DOUBLE_EQ(standard_deviation(values), std::sqrt(32.0 / 7.0));
    EXPECT_DOUBLE_EQ(standard_deviation(std::array{3.0}), 0.0);
}

TEST(ClustersByName, NumbersInOrderAndEmptyNamesStandAlone) {
    const Clusters clusters = clusters_by_name(std::vector<std::string>{"b", "a", "b", "", ""});
    EXPECT_EQ(clusters.of_item, (std::vector<std::size_t>{0, 1, 0, 2, 3}));
    EXPECT_EQ(clusters.count, 4U);
}

TEST(Bootstrap, OfEqualValuesIsAPoint) {
    const std::vector<double> values(20, 0.7);
    const Interval interval = bootstrap_mean(values, each_alone(values.size()));
    EXPECT_NEAR(interval.low, 0.7, 1e-12);
    EXPECT_NEAR(interval.high, 0.7, 1e-12);
}

TEST(Bootstrap, IsTheSameForTheSameSeedAndEmptyForNothing) {
    const std::array values = {1.0, 0.0, 1.0, 1.0, 0.0};
    const Interval a = bootstrap_mean(values, each_alone(5));
    const Interval b = bootstrap_mean(values, each_alone(5));
    EXPECT_EQ(a.low, b.low);
    EXPECT_EQ(a.high, b.high);
    const Interval none = bootstrap_mean({}, each_alone(0));
    EXPECT_EQ(none.low, 0.0);
    EXPECT_EQ(none.high, 0.0);
}

TEST(Bootstrap, AgreesWithTheNormalIntervalOfALargeSample) {
    std::mt19937 random(7);
    std::vector<double> values(900);
    for (double& value : values) value = random() % 10 < 7 ? 1.0 : 0.0;
    const Clusters clusters = each_alone(values.size());
    const Interval resampled = bootstrap_mean(values, clusters);
    const double error = standard_deviation(values) / std::sqrt(900.0);
    EXPECT_NEAR(resampled.low, mean(values) - 1.96 * error, 0.006);
    EXPECT_NEAR(resampled.high, mean(values) + 1.96 * error, 0.006);
}

TEST(Bootstrap, ClusterOfCopiesIsAsUncertainAsItsImages) {
    std::mt19937 random(3);
    std::vector<double> single(60);
    for (double& value : single) value = random() % 2 == 0 ? 1.0 : 0.0;
    std::vector<double> copies;
    Clusters clusters;
    for (std::size_t i = 0; i < single.size(); ++i) {
        for (int copy = 0; copy < 9; ++copy) {
            copies.push_back(single[i]);
            clusters.of_item.push_back(i);
        }
    }
    clusters.count = single.size();
    const Interval honest = bootstrap_mean(copies, clusters);
    const Interval of_images = bootstrap_mean(single, each_alone(single.size()));
    const Interval blind = bootstrap_mean(copies, each_alone(copies.size()));
    EXPECT_NEAR(honest.low, of_images.low, 1e-12);
    EXPECT_NEAR(honest.high, of_images.high, 1e-12);
    EXPECT_LT(blind.high - blind.low, (honest.high - honest.low) / 2.0);
}

TEST(Bootstrap, CoversTheTruthAboutAsOftenAsItSays) {
    std::mt19937 random(11);
    std::bernoulli_distribution coin(0.8);
    int covered = 0;
    constexpr int kRuns = 200;
    for (int run = 0; run < kRuns; ++run) {
        std::vector<double> values(150);
        for (double& value : values) value = coin(random) ? 1.0 : 0.0;
        const Interval interval = bootstrap_mean(values, each_alone(values.size()), {.replicates = 400});
        if (interval.low <= 0.8 && 0.8 <= interval.high) ++covered;
    }
    EXPECT_GE(covered, kRuns * 89 / 100);
    EXPECT_LE(covered, kRuns * 99 / 100);
}

TEST(Bootstrap, OfAStatisticAgreesWithTheMean) {
    const std::array values = {1.0, 0.0, 1.0, 1.0, 0.0, 1.0};
    const Clusters clusters = {{0, 0, 1, 1, 2, 2}, 3};
    const Interval direct = bootstrap_mean(values, clusters);
    const Interval indirect = bootstrap_statistic(clusters, [&](std::span<const std::size_t> items) {
        double sum = 0.0;
        for (const std::size_t item : items) sum += values[item];
        return sum / static_cast<double>(items.size());
    });
    EXPECT_NEAR(direct.low, indirect.low, 1e-12);
    EXPECT_NEAR(direct.high, indirect.high, 1e-12);
}

TEST(BootstrapRatio, OfAListWithItselfIsOneAndSkipsZeroSums) {
    const std::array values = {1.0, 0.0, 0.0};
    const Interval interval = bootstrap_ratio(values, values, each_alone(3));
    EXPECT_DOUBLE_EQ(interval.low, 1.0);
    EXPECT_DOUBLE_EQ(interval.high, 1.0);
}

TEST(McNemarTest, HandComputed) {
    // 1 against 5: twice (C(6,0) + C(6,1)) / 2^6 = 14 / 64.
    const std::array a = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0};
    const std::array b = {0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0};
    const McNemar test = mcnemar(a, b);
    EXPECT_EQ(test.only_a, 1U);
    EXPECT_EQ(test.only_b, 5U);
    EXPECT_NEAR(test.p_value, 14.0 / 64.0, 1e-12);
    EXPECT_NEAR(mcnemar(b, a).p_value, test.p_value, 1e-12);
    EXPECT_DOUBLE_EQ(mcnemar(a, a).p_value, 1.0);
}

TEST(McNemarTest, LargeCountsStayFinite) {
    std::vector<double> a(5000, 1.0);
    std::vector<double> b(5000, 0.0);
    for (std::size_t i = 0; i < 2400; ++i) std::swap(a[i], b[i]);
    const double p = mcnemar(a, b).p_value;
    // 2400 against 2600 is 2.83 standard deviations.
    EXPECT_GT(p, 0.003);
    EXPECT_LT(p, 0.007);
}

TEST(ComparePaired, SeesASmallDifferenceThatUnpairedIntervalsHide) {
    std::mt19937 random(5);
    std::vector<double> a(400);
    for (double& value : a) value = random() % 2 == 0 ? 1.0 : 0.0;
    std::vector<double> b = a;
    int flipped = 0;
    for (double& value : b) {
        if (value == 1.0 && flipped < 12) {
            value = 0.0;
            ++flipped;
        }
    }
    const Clusters clusters = each_alone(a.size());
    const PairedComparison paired = compare_paired(a, b, clusters);
    EXPECT_NEAR(paired.difference, 12.0 / 400.0, 1e-12);
    EXPECT_TRUE(paired.is_separable);
    EXPECT_LT(paired.test.p_value, 0.001);
    EXPECT_LT(bootstrap_mean(a, clusters).low, bootstrap_mean(b, clusters).high);
    EXPECT_FALSE(compare_paired(a, a, clusters).is_separable);
}

}  // namespace
}  // namespace clasp::eval
