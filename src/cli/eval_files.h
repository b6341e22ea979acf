// What an evaluation leaves in its folder: summary.json, report.html, report.md.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "draw/eval_report.h"
#include "eval/run_folder.h"
#include "eval/runner.h"
#include "eval/summary.h"

namespace clasp::cli {

// The questions of the run's shard.
eval::Dataset shard_dataset(const eval::Dataset& dataset, const eval::Shard& shard);

// The names in --against.
std::vector<std::string> labels_to_compare_with(const Arguments& arguments);

// Summary of a run's records; `dataset` holds the questions to count.
Result<eval::Summary> summarise_run(const eval::RunDescription& run, const eval::Benchmark& benchmark,
                                    const eval::Dataset& dataset, const eval::RecordTable& records,
                                    const Arguments& arguments);

// The regressions of a summary, asked again for their token maps. Without an asker they have none.
Result<std::vector<draw::RegressionCase>> regression_cases(const eval::Summary& summary,
                                                           const eval::Dataset& dataset,
                                                           const std::vector<eval::Variant>& variants,
                                                           const eval::Asker& asker, std::size_t max_tokens);

Status write_report_files(const std::string& folder, const draw::EvalReport& report,
                          const std::vector<std::string>& methods);

// The table for people.
void print_summary(const eval::Summary& summary, Console& console);

}  // namespace clasp::cli
