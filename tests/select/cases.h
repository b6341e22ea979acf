// Inputs for the tests of the selection core, made from a number.
#pragma once

#include <random>
#include <vector>

#include "clasp/select.h"

namespace clasp::testing {

struct Case {
    std::vector<float> features;
    std::size_t width = 0;
    std::vector<TokenIndex> live;  // empty: all
    std::vector<float> scores;     // parallel to live
    SelectOptions options;

    [[nodiscard]] std::size_t rows() const { return features.size() / width; }
    [[nodiscard]] std::size_t n_live() const { return scores.size(); }
    [[nodiscard]] SelectInput input() const {
        SelectInput input;
        input.features = {features.data(), rows(), width, width};
        input.live = live;
        input.scores = scores;
        return input;
    }
};

enum class Kind {
    Random,      // directions drawn evenly
    Clustered,   // a few directions with noise around them
    Duplicated,  // few distinct rows, each several times, also scaled by powers of two
    Degenerate,  // zero rows, opposite rows, one axis each, all equal
};

// A row of numbers in the given style.
std::vector<float> make_features(Kind kind, std::size_t rows, std::size_t width, std::mt19937& random);

// Sizes, live set, scores and options drawn too; at most max_rows rows.
Case make_case(Kind kind, std::size_t max_rows, std::mt19937& random);

}  // namespace clasp::testing
