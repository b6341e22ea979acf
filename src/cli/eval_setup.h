// What the eval and calibrate commands share: data, model and the question asked of both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "cli/command.h"
#include "eval/run_folder.h"
#include "eval/runner.h"

namespace clasp::cli {

struct EvalData {
    const eval::Benchmark* benchmark = nullptr;
    eval::Dataset dataset;  // after --limit
    std::string hash;       // of all of it
};

// Reads --data, --split and --limit.
Result<EvalData> load_eval_data(const std::string& benchmark, const Arguments& arguments);

struct EvalEngine {
    std::string name;
    std::string hash;  // of both files
    std::unique_ptr<Engine> engine;
    std::vector<ImageSource> shown;  // an example of what the questions are about
};
Result<EvalEngine> load_eval_engine(const Arguments& arguments, const EvalData& data, Console& console);

// Runs with a progress line; cancelled by Ctrl-C.
Result<eval::RunReport> run_with_progress(eval::RunRequest request, const eval::Asker& asker,
                                          eval::RecordTable known, Console& console);

// --classes, as eval::parse_class_source reads it.
Option class_source_option();

// --max-tokens, and what it means: the benchmark's own limit when it is not given.
Option max_tokens_option();
std::size_t max_tokens(const Arguments& arguments, const eval::Benchmark& benchmark);

std::vector<std::string> split_list(const std::string& text);

}  // namespace clasp::cli
