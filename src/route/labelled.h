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

// What acting on a wrong class costs against falling back to Default, from the paper's robustness
// table: everything forced to Default loses 44 % of what everything misrouted loses (mean over its
// five benchmarks of (unharmed - Default) / (unharmed - random error)).
inline constexpr double kFallbackCost = 0.44;
// Largest share of all questions that may be acted on wrongly.
inline constexpr double kMaxConfidentErrors = 0.04;

// Lines without a label are left out. InvalidArgument if a label is unknown to the taxonomy.
Result<std::vector<Example>> make_examples(std::span<const Question> questions, const Taxonomy& taxonomy,
                                           const Lexicon& lexicon, float balance);

// Leaves out a sixth of the questions in turn (chosen by a hash of the text, so it is the same every time)
// and fits temperature and threshold on what drafts say about questions that they have not seen, then
// trains on everything.
Result<Model> fit_router(std::span<const Question> questions, const Taxonomy& taxonomy,
                         const Lexicon& lexicon, const TrainOptions& options);

// A number from 0 to `parts` - 1 that depends on the words of the question only.
std::size_t part_of(const Question& question, std::size_t parts);

}  // namespace clasp::route
