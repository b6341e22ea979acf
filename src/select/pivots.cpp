#include "select/pivots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "select/direction.h"
#include "select/order.h"

namespace clasp::selection {
namespace {

// SplitMix64 of the pair, as a number in [-1, 1).
double noise(std::uint64_t seed, std::uint64_t token) {
    std::uint64_t bits = seed + (token + 1) * 0x9E3779B97F4A7C15ULL;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
    bits ^= bits >> 31;
    return static_cast<double>(bits >> 11) * 0x1.0p-52 - 1.0;
}

double standard_deviation(std::span<const float> values) {
    const auto n = static_cast<double>(values.size());
    double mean = 0;
    for (const float value : values) mean += static_cast<double>(value);
    mean /= n;
    double variance = 0;
    for (const float value : values) {
        const double difference = static_cast<double>(value) - mean;
        variance += difference * difference;
    }
    return std::sqrt(variance / n);
}

}  // namespace

void choose_pivots(std::span<const float> scores, std::size_t n_pivots, SelectWorkspace::Buffers& buffers) {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    buffers.is_pivot.assign(scores.size(), 0);
    for (const std::uint32_t position : first_by(scores.size(), n_pivots, before, buffers.order)) {
        buffers.is_pivot[position] = 1;
    }
}

void redundancy_to_pivots(const GramView& gram, const Kernels& kernels, SelectWorkspace::Buffers& buffers) {
    buffers.row_maximum.assign(gram.rows, -std::numeric_limits<float>::infinity());
    kernels.max_rows(gram.data, gram.stride, buffers.pivot_rows.data(), buffers.pivot_rows.size(), gram.rows,
                     buffers.row_maximum.data());
    buffers.redundancy.resize(buffers.candidate_rows.size());
    for (std::size_t t = 0; t < buffers.candidate_rows.size(); ++t) {
        buffers.redundancy[t] = buffers.row_maximum[buffers.candidate_rows[t]];
    }
}

void redundancy_to_mean(const Similarities& similarities, const Kernels& kernels,
                        SelectWorkspace::Buffers& buffers) {
    const std::size_t n = similarities.n;
    buffers.order.resize(n);
    std::iota(buffers.order.begin(), buffers.order.end(), 0U);
    buffers.centre_sums.resize(n);
    kernels.sum_rows(similarities.data, similarities.stride, buffers.order.data(), n, n,
                     buffers.centre_sums.data());
    const float scale =
        direction_scale(buffers.centre_sums.data(), buffers.order, similarities.one).value_or(0.0F);
    buffers.redundancy.resize(n);
    for (std::size_t t = 0; t < n; ++t) {
        buffers.redundancy[t] = static_cast<float>(buffers.centre_sums[t]) * scale;
    }
}

void choose_seeds(std::size_t n_seeds, std::uint64_t seed, std::int32_t one,
                  SelectWorkspace::Buffers& buffers) {
    const std::size_t n = buffers.redundancy.size();
    std::vector<double>& keys = buffers.seed_keys;
    keys.resize(n);
    const double amplitude =
        seed == 0 ? 0.0 : standard_deviation(buffers.redundancy) * static_cast<double>(one);
    for (std::size_t t = 0; t < n; ++t) {
        keys[t] = std::nearbyint(static_cast<double>(buffers.redundancy[t]) * static_cast<double>(one));
        if (seed != 0) keys[t] += amplitude * noise(seed, buffers.candidate_tokens[t]);
    }
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
    };
    const std::span<const std::uint32_t> lowest = first_by(n, n_seeds, before, buffers.order);
    buffers.seeds.assign(lowest.begin(), lowest.end());
    std::sort(buffers.seeds.begin(), buffers.seeds.end());
}

}  // namespace clasp::selection
