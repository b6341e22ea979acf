// Random layers in all number formats, and the slow references that fusion is held to.
#pragma once

#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/float_convert.h"
#include "clasp/fuse.h"

namespace clasp::test {

// A layer that owns its values. `stride` values from row to row; the gap is filled with NaN, so that a
// read of it shows.
struct OwnedLayer {
    std::vector<std::byte> bytes;
    std::vector<double> exact;  // n_tokens x width, as the stored format holds them
    LayerView view;
};

inline std::uint16_t to_bfloat(float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
}

inline OwnedLayer random_layer(std::mt19937& random, FloatType type, std::size_t n_tokens, std::size_t width,
                               std::size_t gap = 0) {
    std::normal_distribution<float> normal;
    OwnedLayer layer;
    const std::size_t size = float_size(type);
    layer.bytes.resize((width + gap) * n_tokens * size);
    for (std::size_t t = 0; t < n_tokens; ++t) {
        for (std::size_t i = 0; i < width + gap; ++i) {
            const float value = i < width ? normal(random) : std::numeric_limits<float>::quiet_NaN();
            std::byte* at = layer.bytes.data() + (t * (width + gap) + i) * size;
            float stored = value;
            if (type == FloatType::F32) {
                std::memcpy(at, &value, size);
            } else {
                const std::uint16_t bits =
                    type == FloatType::F16 ? base::float_to_half(value) : to_bfloat(value);
                std::memcpy(at, &bits, size);
                stored = type == FloatType::F16 ? base::half_to_float(bits) : base::bfloat_to_float(bits);
            }
            if (i < width) layer.exact.push_back(static_cast<double>(stored));
        }
    }
    layer.view = {layer.bytes.data(), type, n_tokens, width, gap == 0 ? 0 : width + gap};
    return layer;
}

// Eq. (fusion) in double precision.
inline std::vector<double> fuse_slowly(const std::vector<OwnedLayer>& layers,
                                       std::span<const float> weights) {
    std::vector<double> out(layers.front().exact.size(), 0.0);
    for (std::size_t l = 0; l < layers.size(); ++l) {
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] += static_cast<double>(weights[l]) * layers[l].exact[i];
    }
    return out;
}

inline std::vector<LayerView> views(const std::vector<OwnedLayer>& layers) {
    std::vector<LayerView> out;
    for (const OwnedLayer& layer : layers) out.push_back(layer.view);
    return out;
}

}  // namespace clasp::test
