// Inputs for the tests of the methods that work before the decoder, and what the slow references share:
// plain vectors in double precision, no Gram matrix.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "methods/plan.h"

namespace clasp::methods::testing {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

// Cosines of the rows, by the library; owns the numbers.
struct Cosines {
    std::vector<float> data;
    std::size_t n = 0;
    [[nodiscard]] GramView view() const { return {data.data(), n, n}; }
};

inline Cosines cosines(const std::vector<float>& features, std::size_t width, ThreadPool* pool = nullptr) {
    Cosines result;
    result.n = features.size() / width;
    result.data.resize(result.n * result.n);
    SelectWorkspace workspace;
    EXPECT_TRUE(
        gram({features.data(), result.n, width, width}, workspace, pool, result.data.data(), result.n).ok());
    return result;
}

// Unit vectors in the plane at the given angles.
inline std::vector<float> at_degrees(std::span<const double> angles) {
    std::vector<float> features;
    for (const double angle : angles) {
        const double radians = angle * std::acos(-1.0) / 180.0;
        features.push_back(static_cast<float>(std::cos(radians)));
        features.push_back(static_cast<float>(std::sin(radians)));
    }
    return features;
}

inline std::vector<float> random_numbers(std::size_t n, unsigned seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(n);
    for (float& number : numbers) number = normal(engine);
    return numbers;
}

// Positive numbers that add up to less than 1, as a row of attention to the patches does.
inline std::vector<float> random_attention(std::size_t n, unsigned seed) {
    std::vector<float> row = random_numbers(n, seed);
    float sum = 0.1F;
    for (float& value : row) {
        value = std::exp(value);
        sum += value;
    }
    for (float& value : row) value /= sum;
    return row;
}

inline Rows as_rows(const std::vector<float>& features, std::size_t width) {
    Rows rows;
    for (std::size_t i = 0; i < features.size(); i += width) {
        rows.emplace_back(features.begin() + static_cast<std::ptrdiff_t>(i),
                          features.begin() + static_cast<std::ptrdiff_t>(i + width));
    }
    return rows;
}

inline double dot(const Row& a, const Row& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

inline double cosine(const Row& a, const Row& b) {
    return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

inline void add(Row& to, double weight, const Row& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += weight * from[i];
}

// Positions by falling score, the smaller first among equals: as the specification says it.
inline std::vector<TokenIndex> by_score(const std::vector<float>& scores) {
    std::vector<TokenIndex> order;
    std::vector<bool> is_used(scores.size(), false);
    while (order.size() < scores.size()) {
        std::size_t best = scores.size();
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (!is_used[i] && (best == scores.size() || scores[i] > scores[best])) best = i;
        }
        is_used[best] = true;
        order.push_back(static_cast<TokenIndex>(best));
    }
    return order;
}

// The tokens that the plan makes of the features.
inline Rows applied(const Plan& plan, const Rows& features, const Row& class_token = {}) {
    Rows out;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const auto row = [&](TokenIndex token) {
            return token == kClassToken ? class_token : features[token];
        };
        Row sum = row(plan.kept[i]);
        if (!plan.sources(i).empty()) sum.assign(sum.size(), 0.0);
        for (const MergeSource& source : plan.sources(i)) {
            add(sum, static_cast<double>(source.weight), row(source.row));
        }
        out.push_back(sum);
    }
    return out;
}

inline double total_weight(const Plan& plan, std::size_t output) {
    double sum = plan.sources(output).empty() ? 1.0 : 0.0;
    for (const MergeSource& source : plan.sources(output)) sum += static_cast<double>(source.weight);
    return sum;
}

inline void expect_near(const Rows& found, const Rows& expected, double tolerance = 1e-5) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].size(), expected[i].size());
        for (std::size_t c = 0; c < found[i].size(); ++c) {
            ASSERT_NEAR(found[i][c], expected[i][c], tolerance) << "token " << i << ", number " << c;
        }
    }
}

}  // namespace clasp::methods::testing
