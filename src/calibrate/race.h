// A race between candidates over a list of questions: all start, those that are worse beyond doubt or far
// behind leave after each block, and the block doubles. No question is asked of a candidate that has left,
// and every question is met in one block only, so its picture is encoded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "clasp/status.h"

namespace clasp::calibrate {

struct RaceOptions {
    std::size_t first_block = 16;  // questions
    // Chance of ever rejecting the candidate that is truly best because of a significant but false lead:
    // shared out over all tests of the race (Bonferroni).
    double alpha = 0.05;
    // Also drop the worse half after each block, except those within one standard error of the leader.
    bool use_halving = true;
};

enum class Rejection : std::uint8_t {
    None,         // stayed to the end
    Significant,  // worse than the leader by the exact paired test
    Halved,       // in the worse half, and more than a standard error behind
};

struct RaceEntry {
    std::vector<double> scores;  // of the first scores.size() questions
    double mean = 0.0;
    Rejection rejection = Rejection::None;
    std::size_t round = 0;  // in which it left, or the last
};

struct RaceResult {
    std::size_t winner = 0;
    std::vector<RaceEntry> entries;
    std::size_t rounds = 0;
    std::size_t asked = 0;  // questions, over all candidates
};

// Scores in [0, 1], candidates.size() lists of items.size() each. Items are places in the caller's list.
using ScoreBlock = std::function<Result<std::vector<std::vector<double>>>(
    std::span<const std::size_t> candidates, std::span<const std::size_t> items)>;

// The winner is the best mean over all questions among those that stayed; ties go to `preferred`, then to the
// smaller place. `preferred` is never halved away, so that the comparison with it is always complete.
Result<RaceResult> race(std::size_t n_candidates, std::size_t n_items, std::size_t preferred,
                        const RaceOptions& options, const ScoreBlock& score);

}  // namespace clasp::calibrate
