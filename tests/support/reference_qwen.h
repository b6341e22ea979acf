// The towers and mergers of Qwen's models as plain loops in double precision, written from their description:
// no ggml graph, no order of rows but that of the picture.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "support/reference_vit.h"

namespace clasp::test {

class ReferenceQwen : private ReferenceVit {
   public:
    // The file must be one that random_qwen_mmproj() wrote.
    explicit ReferenceQwen(const model::GgufReader& reader) : ReferenceVit(reader) {}

    struct Layers {
        std::size_t rows = 0;  // of patches
        std::size_t columns = 0;
        std::vector<Matrix> layers;  // per block: patches, row by row
        std::vector<Matrix> keys;    // turned, as attention uses them
    };
    // pixels: 3 planes of height x width, which count as both of two frames; or 6, of two frames.
    [[nodiscard]] Layers encode(std::span<const float> pixels, std::size_t width, std::size_t height) const;
    // The rows that a block with a merger of its own brings to the decoder: tokens, row by row.
    [[nodiscard]] Matrix branch(const Matrix& layer, std::size_t block, std::size_t columns) const;
    // features: patches, row by row; returns tokens, row by row.
    [[nodiscard]] Matrix project(const Matrix& features, std::size_t columns) const;

   private:
    [[nodiscard]] Matrix embed(std::span<const float> pixels, std::size_t width, std::size_t height) const;
    [[nodiscard]] Matrix any_norm(const Matrix& x, const std::string& name) const;
    void add_positions(Matrix& x, std::size_t columns) const;
    void turn(Matrix& x, std::size_t columns) const;
    // Whether a patch sees another in a block.
    [[nodiscard]] bool sees(std::size_t block, std::size_t a, std::size_t b, std::size_t columns) const;
    [[nodiscard]] Matrix attend(std::size_t block, const Matrix& q, const Matrix& k, const Matrix& v,
                                std::size_t columns) const;
    // Four patches of a token one after the other.
    [[nodiscard]] static Matrix merged(const Matrix& patches, std::size_t columns);
    [[nodiscard]] Matrix feed_forward(const Matrix& x, const std::string& prefix) const;
};

}  // namespace clasp::test
