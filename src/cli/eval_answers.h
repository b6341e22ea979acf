// clasp-vlm eval BENCHMARK --data DIR --answers FILE: scores answers that exist already. No model, no
// pictures.
#pragma once

#include <vector>

#include "cli/command.h"

namespace clasp::cli {

// Without --data and --split, which every evaluation has.
std::vector<Option> eval_answers_options();
Status check_eval_answers(const Arguments& arguments);
Status run_eval_answers(const Arguments& arguments, Console& console);

}  // namespace clasp::cli
