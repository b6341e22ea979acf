// Labelled questions made ready for training, and a classifier fitted and calibrated on them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "route/dataset.h"
#include "route/taxonomy.h"
#include "route/train.h"

namespace clasp::route {

// Questions written for this project: they always teach and are never part of a reported figure.
inline constexpr std::string_view kOwnBenchmark = "own";

// Lines without a label are left out. InvalidArgument if a label is unknown to the taxonomy.
Result<std::vector<Example>> make_examples(std::span<const Question> questions, const Taxonomy& taxonomy,
                                           const Lexicon& lexicon, float balance);

// The questions in an order that depends on what they say only, so that a classifier does not depend on the
// order of the lines it was taught.
std::vector<Question> in_teaching_order(std::span<const Question> questions);

// Leaves out a sixth of the benchmarks in turn and calibrates on what drafts say about questions of sets
// that they have not seen, then trains on everything. With fewer than six benchmarks a sixth of the
// questions, chosen by a hash of the text. The order of the questions does not matter.
Result<Model> fit_router(std::span<const Question> lines, const Taxonomy& taxonomy, const Lexicon& lexicon,
                         const TrainOptions& options);

// A number from 0 to `parts` - 1 that depends on the words of the question only.
std::size_t part_of(const Question& question, std::size_t parts);

}  // namespace clasp::route
