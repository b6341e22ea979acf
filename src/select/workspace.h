// Private. The scratch memory behind SelectWorkspace and the problem that the steps of a selection
// share. Local positions count the live tokens from 0; candidates count those that are no pivots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clasp/select.h"
#include "select/kernels/kernels.h"

namespace clasp::selection {

// Rows of private matrices start at multiples of this many floats (one cache line).
inline constexpr std::size_t kRowAlign = 16;

inline std::size_t round_up(std::size_t n, std::size_t step) {
    return (n + step - 1) / step * step;
}

// Cosine similarities of the candidates among themselves, n x n, symmetric, borrowed; in fixed point
// with `one` standing for 1. Integers make every sum exact: it does not matter in which order members
// are added, equal tokens stay equal, and the two members of a cluster are equally near to its centre,
// as on paper.
struct Similarities {
    const std::int32_t* data = nullptr;
    std::size_t stride = 0;
    std::size_t n = 0;
    std::int32_t one = 0;

    [[nodiscard]] const std::int32_t* row(std::size_t candidate) const { return data + candidate * stride; }
};

// What products of some rows with others work in, see for_chosen_products().
struct ChosenRows {
    std::vector<float> of_b;      // the chosen rows on the right
    std::vector<float> panels_a;  // a panel of chosen rows on the left for each thread
};

}  // namespace clasp::selection

namespace clasp {

struct SelectWorkspace::Buffers {
    // gram
    std::vector<float> packed;          // normalised rows in panels, see Kernels::panel
    std::vector<double> inverse_norms;  // per row; 0 for a zero vector
    std::vector<float> gram;            // of raw features

    // pivots and seeds
    std::vector<std::uint32_t> order;             // local positions, partly sorted
    std::vector<std::uint8_t> is_pivot;           // per local position
    std::vector<std::uint32_t> live_rows;         // Gram row per local position
    std::vector<std::uint32_t> pivot_rows;        // Gram rows
    std::vector<std::uint32_t> candidate_rows;    // Gram row per candidate
    std::vector<std::uint32_t> candidate_tokens;  // original index per candidate
    std::vector<std::uint32_t> column_mask;       // per Gram column: which bits count, see max_bits
    std::vector<std::uint32_t> row_bits;          // per live token: largest entry, see max_bits
    std::vector<selection::ColumnBlock> column_blocks;
    std::vector<float> row_maximum;    // per Gram column: largest similarity to a pivot
    std::vector<float> redundancy;     // per candidate
    std::vector<double> seed_keys;     // per candidate: what seeds are ordered by
    std::vector<std::uint32_t> seeds;  // candidates, rising

    // clusters
    std::vector<std::int32_t> similarities;        // candidates x candidates, rows padded to kRowAlign
    std::vector<std::int32_t> centre_sums;         // one row per cluster and some spare ones
    std::vector<std::int32_t*> owned_rows;         // per cluster, then the spare ones: rows of centre_sums
    std::vector<const std::int32_t*> centre_rows;  // per cluster: similarity of each candidate to the sum
    std::vector<float> centre_scales;              // per cluster: from entries of its row to cosines
    std::vector<std::uint32_t> assignment;         // per candidate
    std::vector<std::uint32_t> next_assignment;    // per candidate
    std::vector<float> best;                       // per candidate: similarity to its centre
    std::vector<std::uint32_t> member_begin;       // per cluster, and the end
    std::vector<std::uint32_t> members;            // candidates by cluster, rising within
    std::vector<std::uint8_t> changed;             // per cluster
    std::vector<std::uint32_t> pending;            // clusters whose sum has to be computed

    // the same from features, without a matrix of similarities
    std::vector<float> packed_centres;  // centres, or other rows that candidates are compared with, as packed
    std::vector<double> centre_sum;     // of one cluster; of the features' width
    std::vector<double> unit_row;       // of one candidate
    selection::ChosenRows chosen_rows;
    std::vector<std::uint32_t> moved;       // centres that are not where they were when last compared
    std::vector<std::uint8_t> has_moved;    // per centre
    std::vector<std::uint32_t> followers;   // candidates whose centre moved
    std::vector<std::uint32_t> bystanders;  // the others

    // medoids
    std::vector<std::uint8_t> is_chosen;  // per candidate
    std::vector<std::int32_t> nearest;    // per candidate: largest similarity to a chosen token
    std::vector<std::uint32_t> chosen;    // candidates
};

}  // namespace clasp
