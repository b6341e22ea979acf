// The folder of a run: run.json says what was run, results.jsonl holds the answers. Together they are
// enough to go on after a kill, to merge shards and to make the report again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "eval/runner.h"
#include "eval/summary.h"

namespace clasp::eval {

inline constexpr std::string_view kResultsName = "results.jsonl";

struct RunDescription {
    std::string benchmark;
    std::string data;  // folder, as the user named it
    std::string split;
    std::string data_hash;
    std::string model;       // name for tables
    std::string model_hash;  // of both files
    std::size_t limit = 0;
    std::size_t max_tokens = 0;
    Shard shard;
    std::string ablation;              // name of the preset; empty: methods x budgets
    std::vector<std::string> methods;  // as given
    std::vector<std::string> class_names;
    std::vector<RowSpec> rows;
    std::vector<Unasked> unasked;  // questions that could not be asked, for whatever reason
};

std::string to_json(const RunDescription& run);
Result<RunDescription> parse_run(std::string_view json);

std::string results_path(const std::string& folder);
// Not_found when the folder holds no run.
Result<RunDescription> read_run(const std::string& folder);
Status write_run(const std::string& folder, const RunDescription& run);

// Whether answers of one run may stand beside answers of the other: same benchmark, questions, model and
// answer length. InvalidArgument names the first thing that differs.
Status check_same_run(const RunDescription& a, const RunDescription& b);

// Whether every question of the data set has an answer in every row, or a reason why it was not asked.
// InvalidArgument says how many are missing where.
Status check_complete(const RunDescription& run, const Dataset& dataset, const RecordTable& records);

// SHA-256 over the data set's questions, prompts, references and picture names.
std::string dataset_hash(const Dataset& dataset);

}  // namespace clasp::eval
