// How sure the classifier may be: temperature and threshold fitted on what drafts of it said about
// questions of sets that they were not taught.
#pragma once

#include <cstddef>
#include <vector>

#include "route/model.h"
#include "route/taxonomy.h"

namespace clasp::route {

// How many of the questions of sets that were not taught may be acted on and be wrong. The goal is four in a
// hundred on each set; some sets are harder than all together.
inline constexpr double kMostErrors = 0.025;
// How many claims of the default class may be wrong. A question gets the same settings by falling back, so
// being sure of Default gains nothing and is kept for what is beyond doubt.
inline constexpr double kMostDefaultErrors = 0.005;

struct UnseenQuestion {
    std::vector<float> logits;  // per intent
    std::vector<bool> allowed;  // per intent: may be the right one
    std::size_t true_class = 0;
};

// Without questions the values of an uncalibrated classifier.
Calibration calibrate(const std::vector<UnseenQuestion>& unseen, const Taxonomy& taxonomy);

}  // namespace clasp::route
