// The options of runs of a model over a benchmark, and which of them a form of the command reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "cli/arguments.h"
#include "cli/option.h"

namespace clasp::cli {

// An ablation that is made by searching, not a list of settings.
inline constexpr std::string_view kCalibrationAblation = "calibration";

// --mass: a row without and one with masses.
inline constexpr std::string_view kBothMasses = "both";

std::vector<Option> eval_run_options();

// `words` are BENCHMARK and what follows it. Error: an option that these words leave without effect.
Status check_eval_options(const Arguments& arguments, const std::vector<std::string>& words);

}  // namespace clasp::cli
