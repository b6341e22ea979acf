#include "select/gram.h"

#include <algorithm>
#include <new>
#include <string>

#include "select/packed_rows.h"

namespace clasp::selection {
namespace {

// Rows of one block of the result, a multiple of every kernel's panel: two blocks of packed rows of
// depth kProductDepth stay in the second-level cache. With many threads blocks are smaller, so that there are
// enough of them. Entries do not depend on the block they are computed in.
constexpr std::size_t kLargeBlock = 192;
constexpr std::size_t kSmallBlock = 96;

// One tile of kTileRows x panel entries, clipped at the edge of the matrix.
void clipped_tile(const Kernels& kernels, std::size_t depth, const float* a, const float* b,
                  std::size_t n_rows, std::size_t n_columns, float* out, std::size_t out_stride, bool add) {
    float tile[kTileRows * kMaxPanel];
    kernels.gram_tile(depth, a, b, tile, kernels.panel, false);
    for (std::size_t i = 0; i < n_rows; ++i) {
        for (std::size_t j = 0; j < n_columns; ++j) {
            float& entry = out[i * out_stride + j];
            entry = add ? entry + tile[i * kernels.panel + j] : tile[i * kernels.panel + j];
        }
    }
}

// Adds the products of depth k_begin ... k_end - 1 to the entries (rows of panel p) x (rows of panel q).
void add_panel_product(const PackedRows& packed, const Kernels& kernels, std::size_t p, std::size_t q,
                       std::size_t k_begin, std::size_t k_end, float* out, std::size_t out_stride) {
    const std::size_t panel = kernels.panel;
    const float* a = packed.data + (p * packed.width + k_begin) * panel;
    const float* b = packed.data + (q * packed.width + k_begin) * panel;
    const std::size_t column = q * panel;
    for (std::size_t i = 0; i < panel && p * panel + i < packed.n; i += kTileRows) {
        const std::size_t row = p * panel + i;
        float* tile = out + row * out_stride + column;
        if (row + kTileRows <= packed.n && column + panel <= packed.n) {
            kernels.gram_tile(k_end - k_begin, a + i, b, tile, out_stride, k_begin > 0);
        } else {
            clipped_tile(kernels, k_end - k_begin, a + i, b, std::min(kTileRows, packed.n - row),
                         std::min(panel, packed.n - column), tile, out_stride, k_begin > 0);
        }
    }
}

// One block of the upper triangle over the whole depth, and its mirror image below.
void multiply_block(const PackedRows& packed, const Kernels& kernels, std::size_t block_rows,
                    std::size_t block_row, std::size_t block_column, float* out, std::size_t out_stride) {
    const std::size_t panels_per_block = block_rows / kernels.panel;
    const std::size_t n_panels = (packed.n + kernels.panel - 1) / kernels.panel;
    const std::size_t p_begin = block_row * panels_per_block;
    const std::size_t q_begin = block_column * panels_per_block;
    const std::size_t p_end = std::min(n_panels, p_begin + panels_per_block);
    const std::size_t q_end = std::min(n_panels, q_begin + panels_per_block);
    for (std::size_t k = 0; k < packed.width; k += kProductDepth) {
        const std::size_t k_end = std::min(packed.width, k + kProductDepth);
        for (std::size_t q = q_begin; q < q_end; ++q) {
            for (std::size_t p = p_begin; p < std::min(p_end, q + 1); ++p) {
                add_panel_product(packed, kernels, p, q, k, k_end, out, out_stride);
            }
        }
    }
    const std::size_t row_end = std::min(packed.n, (block_row + 1) * block_rows);
    const std::size_t column_end = std::min(packed.n, (block_column + 1) * block_rows);
    for (std::size_t column = block_column * block_rows; column < column_end; ++column) {
        for (std::size_t row = block_row * block_rows; row < std::min(row_end, column); ++row) {
            out[column * out_stride + row] = out[row * out_stride + column];
        }
    }
}

}  // namespace

Status check_features(const FeatureView& features) {
    if (features.data == nullptr || features.rows == 0 || features.width == 0) {
        return {Code::InvalidArgument, "the features are empty (" + std::to_string(features.rows) +
                                           " rows of " + std::to_string(features.width) + ")"};
    }
    if (features.stride < features.width) {
        return {Code::InvalidArgument, "the feature stride " + std::to_string(features.stride) +
                                           " is below the width " + std::to_string(features.width)};
    }
    if (features.rows > kMaxSelectTokens) {
        return {Code::TooLarge, std::to_string(features.rows) + " tokens are more than the limit of " +
                                    std::to_string(kMaxSelectTokens)};
    }
    return ok_status();
}

Status gram_of_rows(const FeatureView& features, std::span<const TokenIndex> rows,
                    SelectWorkspace::Buffers& buffers, const Kernels& kernels, ThreadPool* pool, float* out,
                    std::size_t out_stride) {
    const std::size_t n = rows.empty() ? features.rows : rows.size();
    CLASP_RETURN_IF_ERROR(measure_rows(features, rows, kernels, pool, buffers));
    PackedRows packed;
    CLASP_RETURN_IF_ERROR(pack_unit_rows(features, rows, kernels, pool, buffers, buffers.packed, packed));
    const std::size_t block_rows = pool != nullptr && pool->size() > 2 ? kSmallBlock : kLargeBlock;
    const std::size_t n_blocks = (n + block_rows - 1) / block_rows;
    run_parts(pool, n_blocks * (n_blocks + 1) / 2, [&](std::size_t part) {
        std::size_t block_row = 0;
        std::size_t block_column = part;
        while (block_column >= n_blocks - block_row) {
            block_column -= n_blocks - block_row;
            ++block_row;
        }
        multiply_block(packed, kernels, block_rows, block_row, block_row + block_column, out, out_stride);
    });
    return ok_status();
}

}  // namespace clasp::selection

namespace clasp {

Status gram(const FeatureView& features, SelectWorkspace& workspace, ThreadPool* pool, float* out,
            std::size_t out_stride) {
    CLASP_RETURN_IF_ERROR(selection::check_features(features));
    if (out == nullptr || out_stride < features.rows) {
        return {Code::InvalidArgument, "the output stride " + std::to_string(out_stride) +
                                           " is below the number of tokens " + std::to_string(features.rows)};
    }
    try {
        return selection::gram_of_rows(features, {}, workspace.buffers(), selection::active_kernels(), pool,
                                       out, out_stride);
    } catch (const std::bad_alloc&) {
        return {Code::OutOfMemory,
                "no memory for the Gram matrix of " + std::to_string(features.rows) + " tokens"};
    }
}

}  // namespace clasp
