// Compiled with -mavx2 -mfma; runs only where the processor has both.
#include <immintrin.h>

#define CLASP_VECTOR_BYTES 32
#include "select/kernels/vector_rows.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kPanel = 24;

// 12 accumulators, 3 columns and 1 row: all 16 registers. Named one by one, because compilers keep
// arrays of them in memory.
struct TileRow {
    __m256 sum0, sum1, sum2;
};

inline void multiply(__m256 a, __m256 b0, __m256 b1, __m256 b2, TileRow& row) {
    row.sum0 = _mm256_fmadd_ps(a, b0, row.sum0);
    row.sum1 = _mm256_fmadd_ps(a, b1, row.sum1);
    row.sum2 = _mm256_fmadd_ps(a, b2, row.sum2);
}

inline void write(const TileRow& row, float* out, bool add) {
    __m256 sum0 = row.sum0, sum1 = row.sum1, sum2 = row.sum2;
    if (add) {
        sum0 = _mm256_add_ps(_mm256_loadu_ps(out), sum0);
        sum1 = _mm256_add_ps(_mm256_loadu_ps(out + 8), sum1);
        sum2 = _mm256_add_ps(_mm256_loadu_ps(out + 16), sum2);
    }
    _mm256_storeu_ps(out, sum0);
    _mm256_storeu_ps(out + 8, sum1);
    _mm256_storeu_ps(out + 16, sum2);
}

void gram_tile(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
               bool add) {
    const __m256 zero = _mm256_setzero_ps();
    TileRow row0 = {zero, zero, zero}, row1 = row0, row2 = row0, row3 = row0;
    for (std::size_t k = 0; k < depth; ++k, a += kPanel, b += kPanel) {
        const __m256 b0 = _mm256_loadu_ps(b);
        const __m256 b1 = _mm256_loadu_ps(b + 8);
        const __m256 b2 = _mm256_loadu_ps(b + 16);
        multiply(_mm256_broadcast_ss(a), b0, b1, b2, row0);
        multiply(_mm256_broadcast_ss(a + 1), b0, b1, b2, row1);
        multiply(_mm256_broadcast_ss(a + 2), b0, b1, b2, row2);
        multiply(_mm256_broadcast_ss(a + 3), b0, b1, b2, row3);
    }
    write(row0, out, add);
    write(row1, out + out_stride, add);
    write(row2, out + 2 * out_stride, add);
    write(row3, out + 3 * out_stride, add);
}

// Eight floats times a double, rounded once.
inline __m256 normalised(const float* from, double scale) {
    const __m256d factor = _mm256_set1_pd(scale);
    const __m128 low = _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(from)), factor));
    const __m128 high = _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(from + 4)), factor));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}

// Four rows by eight columns, transposed within each half: column i of the left half, then of the right.
struct HalfBlock {
    __m256 column0, column1, column2, column3;
};

inline HalfBlock transpose_half(const float* const* rows, const double* scales, std::size_t c) {
    const __m256 row0 = normalised(rows[0] + c, scales[0]);
    const __m256 row1 = normalised(rows[1] + c, scales[1]);
    const __m256 row2 = normalised(rows[2] + c, scales[2]);
    const __m256 row3 = normalised(rows[3] + c, scales[3]);
    const __m256 low01 = _mm256_unpacklo_ps(row0, row1);
    const __m256 high01 = _mm256_unpackhi_ps(row0, row1);
    const __m256 low23 = _mm256_unpacklo_ps(row2, row3);
    const __m256 high23 = _mm256_unpackhi_ps(row2, row3);
    return {_mm256_shuffle_ps(low01, low23, 0x44), _mm256_shuffle_ps(low01, low23, 0xEE),
            _mm256_shuffle_ps(high01, high23, 0x44), _mm256_shuffle_ps(high01, high23, 0xEE)};
}

inline void store_columns(__m256 top, __m256 bottom, float* first, float* second) {
    _mm256_storeu_ps(first, _mm256_permute2f128_ps(top, bottom, 0x20));
    _mm256_storeu_ps(second, _mm256_permute2f128_ps(top, bottom, 0x31));
}

void pack_rows(const float* const* rows, const double* scales, std::size_t n_rows, std::size_t width,
               std::size_t n_columns, float* out) {
    const std::size_t n_blocked = n_rows == width ? n_columns / 8 * 8 : 0;
    for (std::size_t c = 0; c < n_blocked; c += 8) {
        for (std::size_t r = 0; r < width; r += 8) {
            const HalfBlock top = transpose_half(rows + r, scales + r, c);
            const HalfBlock bottom = transpose_half(rows + r + 4, scales + r + 4, c);
            float* to = out + c * width + r;
            store_columns(top.column0, bottom.column0, to, to + 4 * width);
            store_columns(top.column1, bottom.column1, to + width, to + 5 * width);
            store_columns(top.column2, bottom.column2, to + 2 * width, to + 6 * width);
            store_columns(top.column3, bottom.column3, to + 3 * width, to + 7 * width);
        }
    }
    for (std::size_t c = n_blocked; c < n_columns; ++c) {
        for (std::size_t r = 0; r < width; ++r) {
            const double value = r < n_rows ? static_cast<double>(rows[r][c]) * scales[r] : 0.0;
            out[c * width + r] = static_cast<float>(value);
        }
    }
}

void gather_fixed(const float* row, const ColumnSelection& selection, float scale, std::int32_t* out) {
    const __m256 factor = _mm256_set1_ps(scale);
    for (std::size_t i = 0; i < selection.n_blocks; ++i) {
        const ColumnBlock& block = selection.blocks[i];
        const __m256i permutation = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.permutation));
        const __m256 values = _mm256_permutevar8x32_ps(_mm256_loadu_ps(row + block.source), permutation);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + block.target),
                            _mm256_cvtps_epi32(_mm256_mul_ps(values, factor)));
    }
    for (std::size_t i = selection.tail_begin; i < selection.n_columns; ++i) {
        out[i] = _mm_cvtss_si32(_mm_set_ss(row[selection.columns[i]] * scale));
    }
}

}  // namespace

const Kernels& avx2_kernels() {
    static constexpr Kernels kTable = {.name = "avx2",
                                       .panel = kPanel,
                                       .gram_tile = gram_tile,
                                       .squared_norm = squared_norm,
                                       .pack_rows = pack_rows,
                                       .gather_fixed = gather_fixed,
                                       .sum_rows = sum_rows,
                                       .max_rows = max_rows,
                                       .max_fixed_rows = max_fixed_rows,
                                       .best_rows = best_rows,
                                       .max_bits = max_bits};
    return kTable;
}

}  // namespace clasp::selection
