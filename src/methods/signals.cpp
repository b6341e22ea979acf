#include "methods/signals.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

namespace clasp::methods {

Result<CosineMatrix> CosineMatrix::of(const FeatureView& rows, ThreadPool* pool) {
    CosineMatrix matrix;
    try {
        matrix.n_ = rows.rows;
        matrix.data_.resize(rows.rows * rows.rows);
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory,
                      "no memory for the Gram matrix of " + std::to_string(rows.rows) + " tokens");
    }
    SelectWorkspace workspace;
    CLASP_RETURN_IF_ERROR(gram(rows, workspace, pool, matrix.data_.data(), matrix.n_));
    return matrix;
}

std::vector<float> mean_class_attention(const ImageInput& input, std::size_t block) {
    const FeatureView& heads = values_of(input.class_attention, block);
    std::vector<double> sums(heads.width - 1, 0.0);
    for (std::size_t h = 0; h < heads.rows; ++h) {
        const float* row = heads.data + h * heads.stride + 1;
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(row[i]);
    }
    std::vector<float> mean;
    for (const double sum : sums) mean.push_back(static_cast<float>(sum / static_cast<double>(heads.rows)));
    return mean;
}

std::vector<float> unsplit_class_attention(const ImageInput& input, std::size_t block) {
    const FeatureView& query = values_of(input.class_query, block);
    const FeatureView& keys = values_of(input.keys, block);
    std::vector<double> weights(keys.rows, 0.0);
    for (std::size_t i = 0; i < keys.rows; ++i) {
        const float* key = keys.data + i * keys.stride;
        double product = 0;
        for (std::size_t c = 0; c < keys.width; ++c) {
            product += static_cast<double>(query.data[c]) * static_cast<double>(key[c]);
        }
        weights[i] = product / std::sqrt(static_cast<double>(keys.width));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) {
        weight = std::exp(weight - largest);
        total += weight;
    }
    std::vector<float> patches;
    for (std::size_t i = 1; i < weights.size(); ++i)
        patches.push_back(static_cast<float>(weights[i] / total));
    return patches;
}

OwnedRows mean_over_heads(const FeatureView& keys, std::size_t first, std::size_t n_heads) {
    OwnedRows result;
    result.rows = keys.rows - first;
    result.width = keys.width / n_heads;
    result.data.assign(result.rows * result.width, 0.0F);
    for (std::size_t i = 0; i < result.rows; ++i) {
        const float* from = keys.data + (first + i) * keys.stride;
        float* to = result.data.data() + i * result.width;
        for (std::size_t head = 0; head < n_heads; ++head, from += result.width) {
            for (std::size_t c = 0; c < result.width; ++c) to[c] += from[c];
        }
        for (std::size_t c = 0; c < result.width; ++c) to[c] /= static_cast<float>(n_heads);
    }
    return result;
}

FeatureView without_first(const FeatureView& rows) {
    return {rows.data + rows.stride, rows.rows - 1, rows.width, rows.stride};
}

Status require_class_token(const Setup& setup, std::string_view method) {
    if (setup.vision.has_class_token) return ok_status();
    return {Code::Unsupported, "method '" + std::string(method) +
                                   "' needs an encoder with a class token, which this model does not have"};
}

std::size_t block_after_features(const Setup& setup, std::string_view method, Program& program) {
    const std::size_t block = setup.vision.feature_layer + 1;
    if (block < setup.vision.n_blocks) return block;
    program.notes.push_back(std::string(method) + " looks at block " + std::to_string(block) +
                            " of the encoder, which the file does not hold: block " +
                            std::to_string(block - 1) + " stands in");
    return block - 1;
}

}  // namespace clasp::methods
