// Fusion: a mix of vision layers becomes one feature per patch (the paper's class-adaptive layer fusion).
//
// Weighted sums are element by element in the order of the layers given, with one rounding per fused
// multiply-add, so a result is the same bit for bit on every machine and for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/float_type.h"
#include "clasp/grid.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"

namespace clasp {

// ---- Mixes ----

struct LayerWeight {
    std::size_t layer = 0;  // output of vision block `layer`, counted from 0
    double weight = 0.0;

    friend bool operator==(const LayerWeight&, const LayerWeight&) = default;
};

// Rising layers, weights above 0 that sum to 1. Layers that are not listed are never read.
using Mix = std::vector<LayerWeight>;

// softmax(tau * scores), stable for any finite scores; a score of minus infinity gives exactly 0.
// Errors (invalid_argument): no scores, none above minus infinity, NaN or plus infinity, tau not finite
// or not above 0.
Result<std::vector<double>> softmax(std::span<const double> scores, double tau);

struct LayerScore {
    std::size_t layer = 0;
    double score = 0.0;  // the paper's w; minus infinity means never read
};

// softmax(tau * scores) over the layers listed, minus infinity elsewhere. Layers of weight 0 are left
// out. Errors as softmax(), and a layer named twice.
Result<Mix> mix_from_scores(std::span<const LayerScore> scores, double tau);

// The same for scores w = ln p: p^tau / sum p^tau. With tau = 1 weights that sum to 1 come back bit for
// bit. Errors: a weight negative or not finite, all 0, a layer named twice, tau as above.
Result<Mix> mix_from_weights(std::span<const LayerWeight> weights, double tau);

// "5:0.2,22:0.8" as mix_from_weights with tau = 1; the weights must sum to 1 within 1e-6.
Result<Mix> parse_mix(std::string_view text);

// ---- Weighted sums ----

// Features of one layer, borrowed for the call: n_tokens rows of `width` values, rows `stride` values
// apart (at least width; 0 means width). The data need no alignment beyond that of their type.
struct LayerView {
    const void* data = nullptr;
    FloatType type = FloatType::F32;
    std::size_t n_tokens = 0;
    std::size_t width = 0;
    std::size_t stride = 0;
};

// out[t * width + i] = sum over layers of weights[l] * layers[l][t][i]. Every input is read once.
// Special tokens are the caller's to leave out (point data at the first patch). Layers of weight 0 are
// not read. Errors (invalid_argument): no layers, counts or widths that differ, a weight that is not
// finite, out of the wrong size. NaN and infinity in features pass through.
Status fuse_layers(std::span<const LayerView> layers, std::span<const float> weights, std::span<float> out,
                   ThreadPool* pool = nullptr);

// ---- Unequal grids ----

// How an axis grows. An axis that shrinks is averaged over the area of the new cell (plain average
// pooling when the ratio is whole), an equal axis is left alone.
enum class Upsample : std::uint8_t {
    Bilinear,  // half-pixel centres, edges repeated
    Nearest,   // the cell that holds the centre of the new one
};

// Maps a layer from its grid (row by row, n_tokens = height * width) to another and writes
// to.height * to.width rows of float32.
Status align_layer(const LayerView& layer, Grid from, Grid to, Upsample upsample, std::span<float> out,
                   ThreadPool* pool = nullptr);

// align_layer for each layer, then fuse_layers, in one pass without storing the aligned layers. grids has
// one entry per layer. Errors as fuse_layers, and a grid that does not hold the layer's tokens.
Status fuse_grids(std::span<const LayerView> layers, std::span<const Grid> grids,
                  std::span<const float> weights, Grid to, Upsample upsample, std::span<float> out,
                  ThreadPool* pool = nullptr);

}  // namespace clasp
