#include "select/cases.h"

#include <algorithm>

namespace clasp::testing {
namespace {

std::size_t below(std::size_t n, std::mt19937& random) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
}

std::vector<float> normal_numbers(std::size_t n, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float> numbers(n);
    for (float& number : numbers) number = normal(random);
    return numbers;
}

void copy_row(std::vector<float>& features, std::size_t width, std::size_t from, std::size_t to,
              float factor) {
    for (std::size_t i = 0; i < width; ++i) features[to * width + i] = factor * features[from * width + i];
}

void make_degenerate(std::vector<float>& features, std::size_t width, std::mt19937& random) {
    const std::size_t rows = features.size() / width;
    const std::size_t style = below(4, random);
    for (std::size_t row = 0; row < rows; ++row) {
        float* to = features.data() + row * width;
        if (style == 0 && below(3, random) == 0) std::fill(to, to + width, 0.0F);
        if (style == 1 && row % 2 == 1) copy_row(features, width, row - 1, row, -1.0F);
        if (style == 2) {
            std::fill(to, to + width, 0.0F);
            to[below(width, random)] = 1.0F;
        }
        if (style == 3 && row > 0) copy_row(features, width, 0, row, 1.0F);
    }
}

}  // namespace

std::vector<float> make_features(Kind kind, std::size_t rows, std::size_t width, std::mt19937& random) {
    std::vector<float> features = normal_numbers(rows * width, random);
    if (kind == Kind::Clustered) {
        const std::size_t n_directions = 1 + below(6, random);
        const std::vector<float> directions = normal_numbers(n_directions * width, random);
        for (std::size_t row = 0; row < rows; ++row) {
            const std::size_t direction = below(n_directions, random);
            for (std::size_t i = 0; i < width; ++i) {
                float& value = features[row * width + i];
                value = directions[direction * width + i] + 0.2F * value;
            }
        }
    }
    if (kind == Kind::Duplicated) {
        const std::size_t n_distinct = 1 + below(rows, random);
        for (std::size_t row = n_distinct; row < rows; ++row) {
            copy_row(features, width, below(n_distinct, random), row, below(2, random) == 0 ? 1.0F : 4.0F);
        }
    }
    if (kind == Kind::Degenerate) make_degenerate(features, width, random);
    return features;
}

Case make_case(Kind kind, std::size_t max_rows, std::mt19937& random) {
    Case result;
    const std::size_t rows = 1 + below(max_rows, random);
    result.width = 1 + below(24, random);
    result.features = make_features(kind, rows, result.width, random);
    if (below(3, random) == 0) {
        for (std::size_t row = 0; row < rows; ++row) {
            if (below(3, random) != 0) result.live.push_back(static_cast<TokenIndex>(row));
        }
    }
    result.scores = normal_numbers(result.live.empty() ? rows : result.live.size(), random);
    if (below(4, random) == 0) {  // ties
        for (float& score : result.scores) score = static_cast<float>(static_cast<int>(score));
    }
    result.options.budget = 1 + below(result.n_live() + 1, random);
    result.options.split = static_cast<double>(below(101, random)) / 100.0;
    if (below(5, random) == 0) result.options.split = 0.0;
    result.options.iterations = static_cast<std::uint32_t>(below(7, random));
    return result;
}

}  // namespace clasp::testing
