// How well a router agrees with labelled questions: on a random part it never saw, and on every
// benchmark while that benchmark was left out of training.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "clasp/route.h"
#include "clasp/status.h"
#include "route/dataset.h"
#include "route/labelled.h"

namespace clasp::route {

struct Agreement {
    std::size_t n = 0;
    std::size_t n_right = 0;        // the most probable class is the label
    std::size_t n_right_final = 0;  // the class acted on is the label (a fallback is right for Default only)
    std::size_t n_fallback = 0;     // confidence below the threshold
    std::size_t n_confident_wrong = 0;  // acted on and wrong
    // Mean distance between confidence and rate of being right over ten equal bins of confidence.
    double calibration_error = 0.0;
    // [label][most probable class], positions in Router::classes().
    std::vector<std::vector<std::size_t>> confusion;
};

// Unlabelled questions are skipped.
Agreement measure(const Router& router, std::span<const Question> questions);

struct Part {
    std::string benchmark;
    Agreement agreement;
};

// Trains on what is not in the part (own questions always), measures on the part. An empty
// taxonomy_json means the built-in taxonomy.
Result<Agreement> measure_random(std::span<const Question> questions, const std::string& taxonomy_json,
                                 const TrainOptions& options);
// One training per benchmark, in the order of their names. `progress` may be empty.
Result<std::vector<Part>> measure_left_out(std::span<const Question> questions,
                                           const std::string& taxonomy_json, const TrainOptions& options,
                                           const std::function<void(const Part&)>& progress);

}  // namespace clasp::route
