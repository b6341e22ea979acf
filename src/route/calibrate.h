// How sure the classifier may be: temperature and threshold fitted on what drafts of it said about
// questions of sets that they were not taught.
#pragma once

#include <cstddef>
#include <vector>

#include "route/model.h"
#include "route/taxonomy.h"

namespace clasp::route {

// What acting on a wrong class costs against falling back to Default, from the paper's robustness
// table: everything forced to Default loses 44 % of what everything misrouted loses (mean over its
// five benchmarks of (unharmed - Default) / (unharmed - random error)).
inline constexpr double kFallbackCost = 0.44;

struct UnseenQuestion {
    std::vector<float> logits;  // per intent
    std::vector<bool> allowed;  // per intent: may be the right one
    std::size_t true_class = 0;
};

// Without questions the values of an uncalibrated classifier.
Calibration calibrate(const std::vector<UnseenQuestion>& unseen, const Taxonomy& taxonomy);

}  // namespace clasp::route
