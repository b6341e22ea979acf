// The ablation of calibration size and sampling: policies found from more and less data, evaluated side by
// side.
#pragma once

#include <vector>

#include "cli/command.h"
#include "cli/eval_setup.h"
#include "eval/variant.h"

namespace clasp::cli {

// Calibrates once per size of --calibration-sizes and per sampling on --calibration-data, at every budget.
// Answers are shared, so a larger sample costs what it adds.
Result<std::vector<eval::Variant>> calibration_variants(const Arguments& arguments, const eval::Variant& base,
                                                        const EvalEngine& model, Console& console);

}  // namespace clasp::cli
