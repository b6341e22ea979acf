// How sure a score is, and whether two methods differ. Every resampling is by seed, so that a report made
// twice is the same report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clasp::eval {

struct Interval {
    double low = 0.0;
    double high = 0.0;
};

// Share of the answers that are those of the unpruned model, white space around them aside. Correct or not
// does not matter: what is measured is whether pruning changed anything. Lists of one length; 0 when empty.
double loyalty(std::span<const std::string> answers, std::span<const std::string> unpruned);

double mean(std::span<const double> values);
// With n - 1 below the line; 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

// Questions about one image share its fate, so they are resampled together: items of equal cluster number
// form a cluster. Numbers are 0 ... n_clusters - 1, each used at least once.
struct Clusters {
    std::vector<std::size_t> of_item;
    std::size_t count = 0;
};
// Clusters by equal name, numbered in order of appearance. An empty name is a cluster of its own.
Clusters clusters_by_name(std::span<const std::string> names);

struct BootstrapOptions {
    std::size_t replicates = 2000;
    std::uint64_t seed = 1;
    double level = 0.95;
};

// Percentile intervals over resampled clusters. Values and clusters must have one length; of no items the
// interval is 0 to 0.
Interval bootstrap_mean(std::span<const double> values, const Clusters& clusters,
                        const BootstrapOptions& options = {});
// Of mean(a) - mean(b), both over the same resample.
Interval bootstrap_difference(std::span<const double> a, std::span<const double> b, const Clusters& clusters,
                              const BootstrapOptions& options = {});
// Of mean(a) / mean(b), both over the same resample; resamples in which b sums to 0 are left out.
Interval bootstrap_ratio(std::span<const double> a, std::span<const double> b, const Clusters& clusters,
                         const BootstrapOptions& options = {});
// Of any figure of a multiset of items: for metrics that are not a mean.
Interval bootstrap_statistic(const Clusters& clusters,
                             const std::function<double(std::span<const std::size_t> items)>& statistic,
                             const BootstrapOptions& options = {});

// The exact two-sided McNemar test on items that are right or wrong (right: score of at least 0.5).
struct McNemar {
    std::size_t only_a = 0;  // a right, b wrong
    std::size_t only_b = 0;
    double p_value = 1.0;
};
McNemar mcnemar(std::span<const double> a, std::span<const double> b);

// Two methods on the same items.
struct PairedComparison {
    double difference = 0.0;  // mean(a) - mean(b)
    Interval interval;        // clustered bootstrap
    McNemar test;
    bool is_separable = false;  // 0 lies outside the interval
};
PairedComparison compare_paired(std::span<const double> a, std::span<const double> b,
                                const Clusters& clusters, const BootstrapOptions& options = {});

}  // namespace clasp::eval
