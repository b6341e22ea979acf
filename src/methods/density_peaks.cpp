#include "methods/density_peaks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace clasp::methods {

namespace {

constexpr double kTieBreak = 1e-9;

// n x n distances divided by the root of the width.
std::vector<double> distances(const FeatureView& rows) {
    const std::size_t n = rows.rows;
    std::vector<double> result(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            double sum = 0.0;
            for (std::size_t k = 0; k < rows.width; ++k) {
                const double gap = static_cast<double>(rows.data[i * rows.stride + k]) -
                                   static_cast<double>(rows.data[j * rows.stride + k]);
                sum += gap * gap;
            }
            result[i * n + j] = result[j * n + i] = std::sqrt(sum / static_cast<double>(rows.width));
        }
    }
    return result;
}

double cosine(const FeatureView& rows, std::size_t i, std::size_t j) {
    double product = 0.0;
    double first = 0.0;
    double second = 0.0;
    for (std::size_t k = 0; k < rows.width; ++k) {
        const auto a = static_cast<double>(rows.data[i * rows.stride + k]);
        const auto b = static_cast<double>(rows.data[j * rows.stride + k]);
        product += a * b;
        first += a * a;
        second += b * b;
    }
    return product / std::max(1e-12, std::sqrt(first * second));
}

std::vector<double> densities(const std::vector<double>& distance, std::size_t n, std::size_t n_nearest) {
    std::vector<double> result(n);
    std::vector<double> row(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::copy_n(distance.begin() + static_cast<std::ptrdiff_t>(i * n), n, row.begin());
        std::sort(row.begin(), row.end());
        double sum = 0.0;
        for (std::size_t k = 0; k < n_nearest; ++k) sum += row[k] * row[k];
        result[i] = std::exp(-sum / static_cast<double>(n_nearest)) + kTieBreak * static_cast<double>(i);
    }
    return result;
}

}  // namespace

Clusters cluster_by_density(const FeatureView& rows, std::size_t n_clusters, bool by_cosine) {
    const std::size_t n = rows.rows;
    const std::vector<double> distance = distances(rows);
    const std::vector<double> density = densities(distance, n, n_clusters);
    const double largest = *std::max_element(distance.begin(), distance.end());
    std::vector<double> rank(n);
    for (std::size_t i = 0; i < n; ++i) {
        double to_denser = largest;
        for (std::size_t j = 0; j < n; ++j) {
            if (density[j] > density[i]) to_denser = std::min(to_denser, distance[i * n + j]);
        }
        rank[i] = density[i] * to_denser;
    }
    Clusters result;
    result.centres.resize(n);
    std::iota(result.centres.begin(), result.centres.end(), std::size_t{0});
    std::stable_sort(result.centres.begin(), result.centres.end(),
                     [&](std::size_t a, std::size_t b) { return rank[a] > rank[b]; });
    result.centres.resize(n_clusters);
    for (std::size_t i = 0; i < n; ++i) {
        std::size_t best = 0;
        const auto gap = [&](std::size_t c) {
            const std::size_t centre = result.centres[c];
            return by_cosine ? -cosine(rows, i, centre) : distance[i * n + centre];
        };
        for (std::size_t c = 1; c < n_clusters; ++c) {
            if (gap(c) < gap(best)) best = c;
        }
        result.cluster_of.push_back(best);
    }
    for (std::size_t c = 0; c < n_clusters; ++c) result.cluster_of[result.centres[c]] = c;
    return result;
}

}  // namespace clasp::methods
