// Private. The inner loops of the selection core behind one table per instruction set. A kernel is a
// free function on plain memory: no allocation, no threads, no errors. scalar.cpp is the
// specification. All kernels but gram_tile give the same bits on every instruction set; gram_tile may
// differ in rounding (fused multiply-add or not) but adds in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace clasp::selection {

// Rows of the left operand of one gram_tile.
inline constexpr std::size_t kTileRows = 4;

// squared_norm keeps this many partial sums: element i goes to sum i % kNormLanes.
inline constexpr std::size_t kNormLanes = 16;

// Up to eight neighbouring columns of a row of which some are wanted: the wanted ones move to the
// front in the order that permutation gives.
struct ColumnBlock {
    std::uint32_t source = 0;  // first of the eight columns
    std::uint32_t target = 0;  // where the first wanted one goes
    std::uint32_t permutation[8] = {};
};

// The wanted columns of a row, in two forms: all of them, and by blocks. Blocks lie wholly inside the
// row; columns from tail_begin (a position in columns) on are in no block.
struct ColumnSelection {
    const std::uint32_t* columns = nullptr;
    std::size_t n_columns = 0;
    const ColumnBlock* blocks = nullptr;
    std::size_t n_blocks = 0;
    std::size_t tail_begin = 0;
};

struct Kernels {
    std::string_view name;

    // Rows per packed panel, a multiple of kTileRows. A panel of depth k stores element (row i, k) at
    // k * panel + i.
    std::size_t panel;

    // out[i * out_stride + j] = [add: out +] sum over k < depth of a[k * panel + i] * b[k * panel + j]
    // for i < kTileRows, j < panel; one accumulator per entry, k rising.
    void (*gram_tile)(std::size_t depth, const float* a, const float* b, float* out, std::size_t out_stride,
                      bool add);

    // Sum of squares of n floats, in double. Not finite exactly when one of them is not.
    double (*squared_norm)(const float* row, std::size_t n);

    // out[c * width + r] = rows[r][c] * scales[r], computed in double, for c < n_columns, r < n_rows; 0 for
    // n_rows <= r < width. width is a multiple of 8.
    void (*pack_rows)(const float* const* rows, const double* scales, std::size_t n_rows, std::size_t width,
                      std::size_t n_columns, float* out);

    // out[i] = row[columns[i]] * scale, rounded to the nearest integer, to the even one of two. May write
    // up to 7 integers beyond the last one.
    void (*gather_fixed)(const float* row, const ColumnSelection& selection, float scale, std::int32_t* out);

    // out[i] = sum over members m of rows[m * stride + i]; never overflows with the callers' scales.
    void (*sum_rows)(const std::int32_t* rows, std::size_t stride, const std::uint32_t* members,
                     std::size_t n_members, std::size_t n, std::int32_t* out);

    // out[i] = max(out[i], rows[m * stride + i]) over members m.
    void (*max_rows)(const float* rows, std::size_t stride, const std::uint32_t* members,
                     std::size_t n_members, std::size_t n, float* out);
    void (*max_fixed_rows)(const std::int32_t* rows, std::size_t stride, const std::uint32_t* members,
                           std::size_t n_members, std::size_t n, std::int32_t* out);

    // best[i] = max over k < n_rows of float(rows[k][begin + i]) * scales[k]; index[i] = the smallest such
    // k.
    void (*best_rows)(const std::int32_t* const* rows, const float* scales, std::size_t n_rows,
                      std::size_t begin, std::size_t n, float* best, std::uint32_t* index);

    // Largest of bits(row[i]) & mask[i] as an integer. With the sign bit masked off this orders finite
    // magnitudes, then infinity, then NaN; with mask 0 an entry does not count.
    std::uint32_t (*max_bits)(const float* row, const std::uint32_t* mask, std::size_t n);
};

// The fastest table this processor can run (base/kernel_limit.h), or the forced one.
const Kernels& active_kernels();

// Every table this processor can run, slowest (scalar) first.
std::span<const Kernels* const> usable_kernels();

// Test hook: makes active_kernels() answer with this table; null goes back to the fastest.
void force_kernels(const Kernels* kernels);

const Kernels& scalar_kernels();
const Kernels& avx2_kernels();    // x86-64 only
const Kernels& avx512_kernels();  // x86-64 only
const Kernels& neon_kernels();    // 64-bit ARM only

}  // namespace clasp::selection
