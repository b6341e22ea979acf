// The selection as the paper's equations say it, in width space and double precision: no Gram matrix,
// no tricks, slow. It also tells by how much its closest decision was made.
#pragma once

#include <cstdint>
#include <vector>

#include "clasp/select.h"

namespace clasp::testing {

struct ReferencePlan {
    std::vector<TokenIndex> kept;
    std::vector<TokenIndex> pivots;
    std::vector<TokenIndex> coverage;
    std::vector<TokenIndex> seeds;
    std::vector<double> objective;  // J after each iteration
    double start_objective = 0;     // J of the seeds
    // The smallest difference between what won and what came next, over every comparison of
    // similarities. A result in single precision can differ only where this is tiny.
    double gap = 1e300;
    // Some decision was a tie on paper too, and the smaller index won.
    bool has_tie = false;
};

// features: rows of the given width. live empty: all rows; scores parallel to live.
ReferencePlan reference_select(const std::vector<float>& features, std::size_t width,
                               const std::vector<TokenIndex>& live, const std::vector<float>& scores,
                               const SelectOptions& options);

// Rows divided by their lengths; zero rows stay zero.
std::vector<std::vector<double>> unit_rows(const std::vector<float>& features, std::size_t width);

double dot(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace clasp::testing
