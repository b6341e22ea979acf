#include "select/packed_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checked.h"

namespace clasp::selection {
namespace {

// Writes one panel: normalised rows first ... first + panel - 1, zeros where there are none.
void pack_panel(const FeatureView& features, std::span<const TokenIndex> rows, std::size_t n,
                std::size_t first, const double* inverse_norms, const Kernels& kernels, float* out) {
    const float* pointers[kMaxPanel] = {};
    const std::size_t n_rows = std::min(kernels.panel, n - first);
    for (std::size_t i = 0; i < n_rows; ++i) {
        const std::size_t row = rows.empty() ? first + i : rows[first + i];
        pointers[i] = features.data + row * features.stride;
    }
    kernels.pack_rows(pointers, inverse_norms + first, n_rows, kernels.panel, features.width, out);
}

}  // namespace

Status measure_rows(const FeatureView& features, std::span<const TokenIndex> rows, const Kernels& kernels,
                    ThreadPool* pool, SelectWorkspace::Buffers& buffers) {
    const std::size_t n = rows.empty() ? features.rows : rows.size();
    buffers.inverse_norms.resize(n);
    constexpr std::size_t kRowsPerPart = 32;
    run_parts(pool, (n + kRowsPerPart - 1) / kRowsPerPart, [&](std::size_t part) {
        for (std::size_t i = part * kRowsPerPart; i < std::min(n, (part + 1) * kRowsPerPart); ++i) {
            const std::size_t row = rows.empty() ? i : rows[i];
            const double square = kernels.squared_norm(features.data + row * features.stride, features.width);
            buffers.inverse_norms[i] = square == 0.0 ? 0.0 : 1.0 / std::sqrt(square);
        }
    });
    for (std::size_t i = 0; i < n; ++i) {
        // The inverse of infinity is 0, as for a zero vector: look at the row again.
        const std::size_t row = rows.empty() ? i : rows[i];
        const bool is_finite =
            buffers.inverse_norms[i] > 0.0 ||
            kernels.squared_norm(features.data + row * features.stride, features.width) == 0.0;
        if (!is_finite) {
            return {Code::InvalidArgument,
                    "the features of token " + std::to_string(row) + " hold NaN or infinity"};
        }
    }
    return ok_status();
}

Status pack_unit_rows(const FeatureView& features, std::span<const TokenIndex> rows, const Kernels& kernels,
                      ThreadPool* pool, const SelectWorkspace::Buffers& buffers, std::vector<float>& memory,
                      PackedRows& packed) {
    const std::size_t n = rows.empty() ? features.rows : rows.size();
    const std::size_t n_panels = (n + kernels.panel - 1) / kernels.panel;
    const auto size = base::checked_multiply(n_panels * kernels.panel, features.width);
    if (!size || *size > memory.max_size()) {
        return {Code::TooLarge,
                "features of width " + std::to_string(features.width) + " do not fit in memory"};
    }
    memory.resize(*size);
    run_parts(pool, n_panels, [&](std::size_t p) {
        pack_panel(features, rows, n, p * kernels.panel, buffers.inverse_norms.data(), kernels,
                   memory.data() + p * kernels.panel * features.width);
    });
    packed = {memory.data(), n, features.width};
    return ok_status();
}

void multiply_panels(const Kernels& kernels, const PackedRows& a, std::size_t p, const PackedRows& b,
                     std::size_t q, float* tile) {
    const std::size_t panel = kernels.panel;
    for (std::size_t k = 0; k < a.width; k += kProductDepth) {
        const std::size_t depth = std::min(kProductDepth, a.width - k);
        for (std::size_t i = 0; i < panel; i += kTileRows) {
            kernels.gram_tile(depth, a.panel(p, panel) + k * panel + i, b.panel(q, panel) + k * panel,
                              tile + i * panel, panel, k > 0);
        }
    }
}

void gather_panel(const Kernels& kernels, const PackedRows& rows, std::span<const std::uint32_t> numbers,
                  float* panel) {
    const std::size_t height = kernels.panel;
    for (std::size_t i = 0; i < height; ++i) {
        if (i >= numbers.size()) {
            for (std::size_t c = 0; c < rows.width; ++c) panel[c * height + i] = 0.0F;
            continue;
        }
        const float* from = rows.panel(numbers[i] / height, height) + numbers[i] % height;
        for (std::size_t c = 0; c < rows.width; ++c) panel[c * height + i] = from[c * height];
    }
}

}  // namespace clasp::selection
