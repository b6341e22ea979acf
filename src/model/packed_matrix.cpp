#include "model/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "model/packed_kernel.h"

namespace clasp::model {

namespace packed {

namespace {

float finish(float value, Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::None: return value;
        case Epilogue::QuickGelu: return value / (1.0F + std::exp(-1.702F * value));
        case Epilogue::Gelu: return 0.5F * value * (1.0F + std::erf(value * 0.70710678F));
    }
    return value;
}

}  // namespace

void step_scalar(const Step& step) {
    for (std::size_t row = 0; row < step.n_rows; ++row) {
        for (std::size_t output = 0; output < kPanel; ++output) {
            std::int32_t sum = 0;
            for (std::size_t pair = 0; pair < step.n_pairs; ++pair) {
                std::int16_t x[2];
                std::memcpy(x, step.inputs + pair * kTile + row, sizeof(x));
                const std::int16_t* w = step.weights + (pair * kPanel + output) * 2;
                sum += x[0] * w[0] + x[1] * w[1];
            }
            const float scale = step.input_scales[row] * step.weight_scales[output];
            float& y = step.y[row * step.y_stride + output];
            y = step.sums == nullptr
                    ? static_cast<float>(sum) * scale
                    : std::fma(static_cast<float>(sum), scale, step.sums[row * step.sums_stride + output]);
            if (step.is_last) {
                const float bias = step.bias != nullptr ? step.bias[output] : 0.0F;
                y = finish(y + bias, static_cast<Epilogue>(step.epilogue));
            }
        }
    }
}

float round_block_scalar(const float* x, std::size_t n, int max, std::int16_t* out) {
    float top = 0.0F;
    for (std::size_t i = 0; i < n; ++i) {
        if (!std::isfinite(x[i])) {
            std::fill_n(out, n, std::int16_t{0});
            return std::numeric_limits<float>::quiet_NaN();
        }
        top = std::max(top, std::abs(x[i]));
    }
    const float scale = top / static_cast<float>(max);
    const float inverse = top > 0.0F ? static_cast<float>(max) / top : 0.0F;
    for (std::size_t i = 0; i < n; ++i) {
        out[i] = static_cast<std::int16_t>(std::nearbyint(x[i] * inverse));
    }
    return scale;
}

}  // namespace packed

namespace {

using namespace packed;

std::size_t block_count(std::size_t n_inputs) {
    return (n_inputs + kBlock - 1) / kBlock;
}

std::size_t tile_count(std::size_t n_rows) {
    return (n_rows + kTile - 1) / kTile;
}

std::size_t block_width(std::size_t n_inputs, std::size_t block) {
    return std::min(kBlock, n_inputs - block * kBlock);
}

// Packed rows: all values, [block][tile][pair][kTile], then all scales, [block][tile][kTile].
std::size_t value_pairs(std::size_t n_inputs, std::size_t n_rows) {
    return tile_count(n_rows) * kTile * n_inputs / 2;
}

float round_block(const float* x, std::size_t n, int max, std::int16_t* out) {
#ifdef CLASP_HAVE_X86_KERNELS
    if (PackedMatrix::is_fast()) return round_block_avx2(x, n, max, out);
#endif
    return round_block_scalar(x, n, max, out);
}

}  // namespace

bool PackedMatrix::fits(std::size_t n_inputs, std::size_t n_outputs) {
    return n_inputs % 16 == 0 && n_outputs % kPanel == 0 && n_inputs > 0 && n_outputs > 0;
}

std::unique_ptr<PackedMatrix> PackedMatrix::create(std::size_t n_inputs, std::size_t n_outputs) {
    std::unique_ptr<PackedMatrix> matrix(new (std::nothrow) PackedMatrix());
    if (matrix == nullptr) return nullptr;
    matrix->n_inputs_ = n_inputs;
    matrix->n_outputs_ = n_outputs;
    matrix->values_.reset(new (std::nothrow) std::int16_t[n_inputs * n_outputs]);
    matrix->scales_.reset(new (std::nothrow) float[block_count(n_inputs) * n_outputs]);
    if (matrix->values_ == nullptr || matrix->scales_ == nullptr) return nullptr;
    return matrix;
}

void PackedMatrix::set_row(std::size_t output, const float* values) {
    std::int16_t rounded[kBlock];
    for (std::size_t block = 0; block < block_count(n_inputs_); ++block) {
        const std::size_t width = block_width(n_inputs_, block);
        scales_[block * n_outputs_ + output] =
            round_block(values + block * kBlock, width, kMaxWeight, rounded);
        std::int16_t* to = values_.get() + block * kBlock * n_outputs_ + output / kPanel * kPanel * width +
                           output % kPanel * 2;
        for (std::size_t i = 0; i < width; i += 2, to += kPanel * 2) {
            to[0] = rounded[i];
            to[1] = rounded[i + 1];
        }
    }
}

std::size_t PackedMatrix::packed_rows_bytes(std::size_t n_inputs, std::size_t n_rows) {
    return value_pairs(n_inputs, n_rows) * sizeof(std::int32_t) +
           block_count(n_inputs) * tile_count(n_rows) * kTile * sizeof(float);
}

void PackedMatrix::pack_rows(const float* x, std::size_t n_inputs, std::size_t n_rows, std::size_t part,
                             std::size_t n_parts, void* packed) {
    auto* values = static_cast<std::int32_t*>(packed);
    auto* scales = reinterpret_cast<float*>(values + value_pairs(n_inputs, n_rows));
    const std::size_t n_tiles = tile_count(n_rows);
    std::int16_t rounded[kTile][kBlock];
    for (std::size_t tile = n_tiles * part / n_parts; tile < n_tiles * (part + 1) / n_parts; ++tile) {
        for (std::size_t block = 0; block < block_count(n_inputs); ++block) {
            const std::size_t width = block_width(n_inputs, block);
            float* scale = scales + (block * n_tiles + tile) * kTile;
            for (std::size_t i = 0; i < kTile; ++i) {
                const std::size_t row = tile * kTile + i;
                if (row < n_rows) {
                    scale[i] = round_block(x + row * n_inputs + block * kBlock, width, kMaxInput, rounded[i]);
                } else {
                    scale[i] = 0.0F;
                    std::memset(rounded[i], 0, width * sizeof(std::int16_t));
                }
            }
            std::int32_t* to = values + (block * kBlock * n_tiles + tile * width) * kTile / 2;
            for (std::size_t pair = 0; pair < width / 2; ++pair) {
                for (std::size_t i = 0; i < kTile; ++i, ++to) {
                    std::memcpy(to, rounded[i] + 2 * pair, sizeof(*to));
                }
            }
        }
    }
}

namespace {

// y = W x + b for packed rows of x.
struct Product {
    const std::int16_t* weights;
    const float* weight_scales;
    std::size_t n_inputs;
    std::size_t n_outputs;
    const std::int32_t* inputs;
    const float* input_scales;
    std::size_t n_rows;
    const float* bias;
    Epilogue epilogue;
    float* y;
};

struct Span {
    std::size_t begin;
    std::size_t end;
};

// What stays in the second-level cache at a time: so many tiles of rows, so many blocks of their inputs.
constexpr std::size_t kTilesAtOnce = 25;
constexpr std::size_t kBlocksAtOnce = 4;

// A few panels of outputs. Their sums wait in the first-level cache until the last of these blocks.
template <void (*run)(const Step&), std::size_t kMostPanels>
void multiply_strip(const Product& product, Span panels, Span tiles, Span blocks) {
    alignas(64) float waiting[kTilesAtOnce * kTile * kPanel * kMostPanels];
    const std::size_t n_tiles = tile_count(product.n_rows);
    const std::size_t panel = panels.begin;
    const std::size_t width_of_strip = (panels.end - panels.begin) * kPanel;
    Step step;
    step.n_panels = panels.end - panels.begin;
    step.epilogue = static_cast<int>(product.epilogue);
    step.bias = product.bias != nullptr ? product.bias + panel * kPanel : nullptr;
    for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
        const std::size_t width = block_width(product.n_inputs, block);
        const bool from_y = block == blocks.begin;
        const bool to_y = block + 1 == blocks.end;
        step.n_pairs = width / 2;
        step.weights = product.weights + block * kBlock * product.n_outputs + panel * kPanel * width;
        step.weight_scales = product.weight_scales + block * product.n_outputs + panel * kPanel;
        step.is_last = block + 1 == block_count(product.n_inputs);
        step.sums_stride = from_y ? product.n_outputs : width_of_strip;
        step.y_stride = to_y ? product.n_outputs : width_of_strip;
        for (std::size_t tile = tiles.begin; tile < tiles.end; ++tile) {
            float* wait = waiting + (tile - tiles.begin) * kTile * width_of_strip;
            float* y = product.y + tile * kTile * product.n_outputs + panel * kPanel;
            step.inputs = product.inputs + (block * kBlock * n_tiles + tile * width) * kTile / 2;
            step.input_scales = product.input_scales + (block * n_tiles + tile) * kTile;
            step.n_rows = std::min(kTile, product.n_rows - tile * kTile);
            step.y = to_y ? y : wait;
            step.sums = nullptr;
            if (block > 0) step.sums = from_y ? y : wait;
            run(step);
        }
    }
}

template <void (*run)(const Step&), std::size_t kMostPanels>
void multiply_panels(const Product& product, Span panels) {
    const std::size_t n_tiles = tile_count(product.n_rows);
    const std::size_t n_blocks = block_count(product.n_inputs);
    for (std::size_t tile = 0; tile < n_tiles; tile += kTilesAtOnce) {
        const Span tiles = {tile, std::min(tile + kTilesAtOnce, n_tiles)};
        for (std::size_t block = 0; block < n_blocks; block += kBlocksAtOnce) {
            const Span blocks = {block, std::min(block + kBlocksAtOnce, n_blocks)};
            for (std::size_t panel = panels.begin; panel < panels.end; panel += kMostPanels) {
                const Span strip = {panel, std::min(panel + kMostPanels, panels.end)};
                multiply_strip<run, kMostPanels>(product, strip, tiles, blocks);
            }
        }
    }
}

}  // namespace

void PackedMatrix::multiply(const void* packed, std::size_t n_rows, const float* bias, Epilogue epilogue,
                            std::size_t part, std::size_t n_parts, float* y, KernelSet kernels) const {
    const std::size_t n_panels = n_outputs_ / kPanel;
    const Span panels = {n_panels * part / n_parts, n_panels * (part + 1) / n_parts};
    const auto* inputs = static_cast<const std::int32_t*>(packed);
    const auto* input_scales = reinterpret_cast<const float*>(inputs + value_pairs(n_inputs_, n_rows));
    const Product product = {values_.get(), scales_.get(), n_inputs_, n_outputs_, inputs,
                             input_scales,  n_rows,        bias,      epilogue,   y};
    switch (kernels) {
#ifdef CLASP_HAVE_X86_KERNELS
        case KernelSet::Avx512: return multiply_panels<step_avx512, kAvx512Panels>(product, panels);
        case KernelSet::Vnni256:
        case KernelSet::Avx2: return multiply_panels<step_avx2, 1>(product, panels);
#endif
        default: return multiply_panels<step_scalar, 1>(product, panels);
    }
}

}  // namespace clasp::model
