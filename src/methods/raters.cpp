#include "methods/raters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace clasp::methods {

std::vector<std::size_t> text_raters(const FeatureView& visual, const FeatureView& text) {
    std::vector<double> received(text.rows, 0.0);
    std::vector<double> row(text.rows);
    for (std::size_t v = 0; v < visual.rows; ++v) {
        const float* token = visual.data + v * visual.stride;
        for (std::size_t t = 0; t < text.rows; ++t) {
            const float* word = text.data + t * text.stride;
            double product = 0.0;
            for (std::size_t i = 0; i < text.width; ++i) {
                product += static_cast<double>(token[i]) * static_cast<double>(word[i]);
            }
            row[t] = product;
        }
        const double largest = *std::max_element(row.begin(), row.end());
        double sum = 0.0;
        for (double& value : row) sum += value = std::exp(value - largest);
        for (std::size_t t = 0; t < text.rows; ++t) received[t] += row[t] / sum;
    }
    const double mean =
        std::accumulate(received.begin(), received.end(), 0.0) / static_cast<double>(text.rows);
    std::vector<std::size_t> raters;
    for (std::size_t t = 0; t < text.rows; ++t) {
        if (received[t] > mean) raters.push_back(t);
    }
    if (raters.empty()) {
        raters.resize(text.rows);
        std::iota(raters.begin(), raters.end(), std::size_t{0});
    }
    return raters;
}

}  // namespace clasp::methods
