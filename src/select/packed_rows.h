// Private. Unit rows of features in the panels that the product kernel takes, and products of two panels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "select/workspace.h"

namespace clasp::selection {

inline constexpr std::size_t kMaxPanel = 48;

// Rows in panels of Kernels::panel: element (row i, k) of a panel is at k * panel + i; the last one is filled
// up with zeros. Borrowed.
struct PackedRows {
    const float* data = nullptr;
    std::size_t n = 0;      // rows
    std::size_t width = 0;  // depth of a panel

    [[nodiscard]] const float* panel(std::size_t number, std::size_t panel_rows) const {
        return data + number * panel_rows * width;
    }
};

// Fills buffers.inverse_norms, one per given row (empty: all of them); names the first that holds NaN or
// infinity.
Status measure_rows(const FeatureView& features, std::span<const TokenIndex> rows, const Kernels& kernels,
                    ThreadPool* pool, SelectWorkspace::Buffers& buffers);

// Those rows divided by their lengths, packed into `memory`, after measure_rows() for the same ones. Error:
// too large.
Status pack_unit_rows(const FeatureView& features, std::span<const TokenIndex> rows, const Kernels& kernels,
                      ThreadPool* pool, const SelectWorkspace::Buffers& buffers, std::vector<float>& memory,
                      PackedRows& packed);

// Depth of one pass over the accumulators: a panel of this depth stays in the first-level cache.
inline constexpr std::size_t kProductDepth = 128;

// Dot products of the rows of panel p of `a` with those of panel q of `b`, of the same width: panel x panel
// floats, with the bits that the Gram matrix has.
void multiply_panels(const Kernels& kernels, const PackedRows& a, std::size_t p, const PackedRows& b,
                     std::size_t q, float* tile);

// Calls f(row of a, row of b, product) for all pairs, panels of `a` in parallel, rows of b rising for each.
template <typename F>
void for_products(const Kernels& kernels, ThreadPool* pool, const PackedRows& a, const PackedRows& b, F f) {
    const std::size_t panel = kernels.panel;
    run_parts(pool, (a.n + panel - 1) / panel, [&](std::size_t p) {
        float tile[kMaxPanel * kMaxPanel];
        for (std::size_t q = 0; q * panel < b.n; ++q) {
            multiply_panels(kernels, a, p, b, q, tile);
            for (std::size_t i = 0; i < std::min(panel, a.n - p * panel); ++i) {
                for (std::size_t j = 0; j < std::min(panel, b.n - q * panel); ++j) {
                    f(p * panel + i, q * panel + j, tile[i * panel + j]);
                }
            }
        }
    });
}

// Copies these rows of packed ones, at most a panel of them, into a panel of their own.
void gather_panel(const Kernels& kernels, const PackedRows& rows, std::span<const std::uint32_t> numbers,
                  float* panel);

// Calls f(row of a, row of b, product) for all pairs of these rows, panels of rows of `a` in parallel, rows
// of b in their order for each.
template <typename F>
void for_chosen_products(const Kernels& kernels, ThreadPool* pool, const PackedRows& a,
                         std::span<const std::uint32_t> rows_of_a, const PackedRows& b,
                         std::span<const std::uint32_t> rows_of_b, ChosenRows& memory, F f) {
    const std::size_t panel = kernels.panel;
    const std::size_t panel_floats = panel * b.width;
    const std::size_t n_panels_b = (rows_of_b.size() + panel - 1) / panel;
    PackedRows chosen = {b.data, rows_of_b.size(), b.width};
    if (rows_of_b.size() < b.n) {  // all of b in its order needs no copy
        memory.of_b.resize(n_panels_b * panel_floats);
        run_parts(pool, n_panels_b, [&](std::size_t q) {
            const std::size_t n = std::min(panel, rows_of_b.size() - q * panel);
            gather_panel(kernels, b, rows_of_b.subspan(q * panel, n), memory.of_b.data() + q * panel_floats);
        });
        chosen.data = memory.of_b.data();
    }
    const std::size_t n_panels_a = (rows_of_a.size() + panel - 1) / panel;
    const std::size_t n_at_once = pool != nullptr ? pool->size() : 1;
    memory.panels_a.resize(n_at_once * panel_floats);
    for (std::size_t first = 0; first < n_panels_a; first += n_at_once) {
        run_parts(pool, std::min(n_at_once, n_panels_a - first), [&](std::size_t part) {
            const std::size_t begin = (first + part) * panel;
            const auto rows = rows_of_a.subspan(begin, std::min(panel, rows_of_a.size() - begin));
            float* gathered = memory.panels_a.data() + part * panel_floats;
            gather_panel(kernels, a, rows, gathered);
            float tile[kMaxPanel * kMaxPanel];
            for (std::size_t q = 0; q < n_panels_b; ++q) {
                multiply_panels(kernels, {gathered, rows.size(), a.width}, 0, chosen, q, tile);
                const std::size_t n_columns = std::min(panel, rows_of_b.size() - q * panel);
                for (std::size_t i = 0; i < rows.size(); ++i) {
                    for (std::size_t j = 0; j < n_columns; ++j) {
                        f(rows[i], rows_of_b[q * panel + j], tile[i * panel + j]);
                    }
                }
            }
        });
    }
}

}  // namespace clasp::selection
