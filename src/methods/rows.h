// Applying a plan to rows in memory.
#pragma once

#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// What a plan must hold before it is applied to n_rows rows: rows that exist, no place twice, finite
// weights. A plan that does not is a fault of its method (Code::Internal).
Status check_plan(const Plan& plan, std::size_t n_rows, bool has_class_token);

// The rows of the output tokens, plan.size() x width. class_row may be null if the plan does not name it.
std::vector<float> apply_to_rows(const Plan& plan, const FeatureView& rows, const float* class_row);

// Which patches each output token stands for, rising: those of its place and of its sources.
std::vector<std::vector<TokenIndex>> apply_to_members(const Plan& plan,
                                                      const std::vector<std::vector<TokenIndex>>& members);

}  // namespace clasp::methods
