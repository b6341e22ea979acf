#include "eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/check.h"

namespace clasp::eval {

namespace {

// SplitMix64: small, fast and the same everywhere.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    // Even over 0 ... n - 1 as far as 53 bits allow, which no interval can see.
    std::size_t below(std::size_t n) {
        const double unit = static_cast<double>(next() >> 11U) * 0x1.0p-53;
        return std::min(n - 1, static_cast<std::size_t>(unit * static_cast<double>(n)));
    }

   private:
    std::uint64_t state_;
};

// The values at both ends of the middle `level` of a sample, linear between neighbours.
Interval percentile_interval(std::vector<double> sample, double level) {
    if (sample.empty()) return {};
    std::sort(sample.begin(), sample.end());
    const auto at = [&sample](double share) {
        const double place = share * static_cast<double>(sample.size() - 1);
        const auto below = static_cast<std::size_t>(place);
        const std::size_t above = std::min(below + 1, sample.size() - 1);
        return sample[below] + (place - static_cast<double>(below)) * (sample[above] - sample[below]);
    };
    const double tail = (1.0 - level) / 2.0;
    return {at(tail), at(1.0 - tail)};
}

// What a resample needs to know of a cluster.
struct ClusterSum {
    double a = 0.0;
    double b = 0.0;
    double n = 0.0;
};

std::vector<ClusterSum> sum_clusters(std::span<const double> a, std::span<const double> b,
                                     const Clusters& clusters) {
    CLASP_CHECK(a.size() == clusters.of_item.size() && (b.empty() || b.size() == a.size()));
    std::vector<ClusterSum> sums(clusters.count);
    for (std::size_t i = 0; i < a.size(); ++i) {
        ClusterSum& sum = sums[clusters.of_item[i]];
        sum.a += a[i];
        if (!b.empty()) sum.b += b[i];
        sum.n += 1.0;
    }
    return sums;
}

// `figure` of the sums over each resample; results that are not finite are left out.
template <typename Figure>
Interval resample_sums(const std::vector<ClusterSum>& clusters, const BootstrapOptions& options,
                       Figure figure) {
    if (clusters.empty()) return {};
    Random random(options.seed);
    std::vector<double> sample;
    sample.reserve(options.replicates);
    for (std::size_t replicate = 0; replicate < options.replicates; ++replicate) {
        ClusterSum total;
        for (std::size_t draw = 0; draw < clusters.size(); ++draw) {
            const ClusterSum& cluster = clusters[random.below(clusters.size())];
            total.a += cluster.a;
            total.b += cluster.b;
            total.n += cluster.n;
        }
        const double value = figure(total);
        if (std::isfinite(value)) sample.push_back(value);
    }
    return percentile_interval(std::move(sample), options.level);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

double loyalty(std::span<const std::string> answers, std::span<const std::string> unpruned) {
    CLASP_CHECK(answers.size() == unpruned.size());
    if (answers.empty()) return 0.0;
    std::size_t same = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (trimmed(answers[i]) == trimmed(unpruned[i])) ++same;
    }
    return static_cast<double>(same) / static_cast<double>(answers.size());
}

double mean(std::span<const double> values) {
    if (values.empty()) return 0.0;
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
    if (values.size() < 2) return 0.0;
    const double centre = mean(values);
    double sum = 0.0;
    for (const double value : values) sum += (value - centre) * (value - centre);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Clusters clusters_by_name(std::span<const std::string> names) {
    Clusters clusters;
    std::map<std::string_view, std::size_t> numbers;
    for (const std::string& name : names) {
        if (name.empty()) {
            clusters.of_item.push_back(clusters.count++);
            continue;
        }
        const auto [entry, is_new] = numbers.emplace(name, clusters.count);
        if (is_new) ++clusters.count;
        clusters.of_item.push_back(entry->second);
    }
    return clusters;
}

Interval bootstrap_mean(std::span<const double> values, const Clusters& clusters,
                        const BootstrapOptions& options) {
    return resample_sums(sum_clusters(values, {}, clusters), options,
                         [](const ClusterSum& total) { return total.a / total.n; });
}

Interval bootstrap_difference(std::span<const double> a, std::span<const double> b, const Clusters& clusters,
                              const BootstrapOptions& options) {
    return resample_sums(sum_clusters(a, b, clusters), options,
                         [](const ClusterSum& total) { return (total.a - total.b) / total.n; });
}

Interval bootstrap_ratio(std::span<const double> a, std::span<const double> b, const Clusters& clusters,
                         const BootstrapOptions& options) {
    return resample_sums(sum_clusters(a, b, clusters), options, [](const ClusterSum& total) {
        return total.b != 0.0 ? total.a / total.b : std::numeric_limits<double>::quiet_NaN();
    });
}

Interval bootstrap_statistic(const Clusters& clusters,
                             const std::function<double(std::span<const std::size_t> items)>& statistic,
                             const BootstrapOptions& options) {
    if (clusters.count == 0) return {};
    std::vector<std::vector<std::size_t>> members(clusters.count);
    for (std::size_t i = 0; i < clusters.of_item.size(); ++i) members[clusters.of_item[i]].push_back(i);
    Random random(options.seed);
    std::vector<double> sample;
    std::vector<std::size_t> items;
    for (std::size_t replicate = 0; replicate < options.replicates; ++replicate) {
        items.clear();
        for (std::size_t draw = 0; draw < clusters.count; ++draw) {
            const std::vector<std::size_t>& cluster = members[random.below(clusters.count)];
            items.insert(items.end(), cluster.begin(), cluster.end());
        }
        const double value = statistic(items);
        if (std::isfinite(value)) sample.push_back(value);
    }
    return percentile_interval(std::move(sample), options.level);
}

McNemar mcnemar(std::span<const double> a, std::span<const double> b) {
    CLASP_CHECK(a.size() == b.size());
    McNemar result;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool a_right = a[i] >= 0.5;
        const bool b_right = b[i] >= 0.5;
        if (a_right && !b_right) ++result.only_a;
        if (b_right && !a_right) ++result.only_b;
    }
    // Twice the lower tail of a fair coin over the pairs that disagree.
    const std::size_t n = result.only_a + result.only_b;
    const std::size_t fewer = std::min(result.only_a, result.only_b);
    const auto log_choose = [n](std::size_t k) {
        const auto x = static_cast<double>(k);
        const auto m = static_cast<double>(n);
        return std::lgamma(m + 1.0) - std::lgamma(x + 1.0) - std::lgamma(m - x + 1.0);
    };
    double tail = 0.0;
    for (std::size_t k = 0; k <= fewer; ++k) {
        tail += std::exp(log_choose(k) - static_cast<double>(n) * std::log(2.0));
    }
    result.p_value = std::min(1.0, 2.0 * tail);
    return result;
}

PairedComparison compare_paired(std::span<const double> a, std::span<const double> b,
                                const Clusters& clusters, const BootstrapOptions& options) {
    PairedComparison result;
    result.difference = mean(a) - mean(b);
    result.interval = bootstrap_difference(a, b, clusters, options);
    result.test = mcnemar(a, b);
    result.is_separable = result.interval.low > 0.0 || result.interval.high < 0.0;
    return result;
}

}  // namespace clasp::eval
