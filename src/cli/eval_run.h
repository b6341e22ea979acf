// clasp-vlm eval with a model: benchmarks, ablations, merging of shards, reports over several runs.
#pragma once

#include "cli/command.h"

namespace clasp::cli {

Status check_eval_run(const Arguments& arguments);
// The first positional is a benchmark or one of the words "ablation", "merge" and "report", which take more.
Status run_eval(const Arguments& arguments, Console& console);

}  // namespace clasp::cli
