// Private to the methods. What the hooks show, in the form that the algorithms take.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "methods/method.h"

namespace clasp::methods {

// Cosines of all rows; owns them.
class CosineMatrix {
   public:
    static Result<CosineMatrix> of(const FeatureView& rows, ThreadPool* pool);

    [[nodiscard]] GramView view() const { return {data_.data(), n_, n_}; }

   private:
    std::vector<float> data_;
    std::size_t n_ = 0;
};

// Rows in memory of their own.
struct OwnedRows {
    std::vector<float> data;
    std::size_t rows = 0;
    std::size_t width = 0;

    [[nodiscard]] FeatureView view() const { return {data.data(), rows, width, width}; }
};

// The class token's attention to the patches in a block, mean over heads.
std::vector<float> mean_class_attention(const ImageInput& input, std::size_t block);

// The same as one head of the whole width would have it: softmax over all keys, the class token's included,
// of query times key over the root of the width.
std::vector<float> unsplit_class_attention(const ImageInput& input, std::size_t block);

// The rows from first on, each the mean of its heads' parts.
OwnedRows mean_over_heads(const FeatureView& keys, std::size_t first, std::size_t n_heads);

// The view without its first row.
FeatureView without_first(const FeatureView& rows);

// Error: Unsupported, when the encoder has no class token.
Status require_class_token(const Setup& setup, std::string_view method);

// The block after the feature block, which some methods look at. When the file does not hold it: the feature
// block itself, and a note says so.
std::size_t block_after_features(const Setup& setup, std::string_view method, Program& program);

}  // namespace clasp::methods
