// The specification of every kernel, for any machine.
#include <cmath>
#include <cstring>

#include "select/kernels/kernels.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 8;

void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    float sums[kTileRows][kPanel] = {};
    for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t i = 0; i < kTileRows; ++i) {
            for (std::size_t j = 0; j < kPanel; ++j) sums[i][j] += a[k * kPanel + i] * b[k * kPanel + j];
        }
    }
    for (std::size_t i = 0; i < kTileRows; ++i) {
        for (std::size_t j = 0; j < kPanel; ++j) {
            float& entry = out[i * out_stride + j];
            entry = add ? entry + sums[i][j] : sums[i][j];
        }
    }
}

double squared_norm(const float* row, std::size_t n) {
    double lanes[kNormLanes] = {};
    for (std::size_t i = 0; i < n; ++i) {
        const auto value = static_cast<double>(row[i]);
        lanes[i % kNormLanes] += value * value;
    }
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

void pack_rows(const float* const* rows, const double* scales, std::size_t n_rows, std::size_t width,
               std::size_t n_columns, float* out) {
    for (std::size_t c = 0; c < n_columns; ++c) {
        for (std::size_t r = 0; r < width; ++r) {
            const double value = r < n_rows ? static_cast<double>(rows[r][c]) * scales[r] : 0.0;
            out[c * width + r] = static_cast<float>(value);
        }
    }
}

void gather_fixed(const float* row, const ColumnSelection& selection, float scale, std::int32_t* out) {
    for (std::size_t i = 0; i < selection.n_columns; ++i) {
        out[i] = static_cast<std::int32_t>(std::lrint(row[selection.columns[i]] * scale));
    }
}

void sum_rows(const std::int32_t* rows, std::size_t stride, const std::uint32_t* members,
              std::size_t n_members, std::size_t n, std::int32_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = 0;
    for (std::size_t m = 0; m < n_members; ++m) {
        for (std::size_t i = 0; i < n; ++i) out[i] += rows[members[m] * stride + i];
    }
}

template <typename Number>
void max_rows(const Number* rows, std::size_t stride, const std::uint32_t* members, std::size_t n_members,
              std::size_t n, Number* out) {
    for (std::size_t m = 0; m < n_members; ++m) {
        const Number* row = rows + members[m] * stride;
        for (std::size_t i = 0; i < n; ++i) out[i] = row[i] > out[i] ? row[i] : out[i];
    }
}

void best_rows(const std::int32_t* const* rows, const float* scales, std::size_t n_rows, std::size_t begin,
               std::size_t n, float* best, std::uint32_t* index) {
    for (std::size_t i = 0; i < n; ++i) {
        best[i] = static_cast<float>(rows[0][begin + i]) * scales[0];
        index[i] = 0;
        for (std::size_t k = 1; k < n_rows; ++k) {
            const float value = static_cast<float>(rows[k][begin + i]) * scales[k];
            if (value > best[i]) {
                best[i] = value;
                index[i] = static_cast<std::uint32_t>(k);
            }
        }
    }
}

std::uint32_t max_bits(const float* row, const std::uint32_t* mask, std::size_t n) {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, row + i, sizeof bits);
        bits &= mask[i];
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

}  // namespace

const Kernels& scalar_kernels() {
    static constexpr Kernels kTable = {.name = "scalar",
                                       .panel = kPanel,
                                       .gram_tile = gram_tile,
                                       .squared_norm = squared_norm,
                                       .pack_rows = pack_rows,
                                       .gather_fixed = gather_fixed,
                                       .sum_rows = sum_rows,
                                       .max_rows = max_rows<float>,
                                       .max_fixed_rows = max_rows<std::int32_t>,
                                       .best_rows = best_rows,
                                       .max_bits = max_bits};
    return kTable;
}

}  // namespace clasp::selection
