// The paper's main table as data: rows by budget and method, a column per benchmark, the normalised
// average; the best of each budget marked. HTML and Markdown print the same one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/summary.h"

namespace clasp::draw {

struct ReportCell {
    const eval::Row* row = nullptr;  // null: not run
    bool is_best = false;
};

struct ReportRow {
    std::string label;
    std::vector<ReportCell> cells;  // one per summary
    std::optional<double> average;  // per cent of the unpruned model, when every benchmark was run
    bool is_best_average = false;
};

struct ReportBand {
    std::string budget;
    std::string title;  // "Retain 192 tokens"; empty for the unpruned model
    std::vector<ReportRow> rows;
};

// Borrows from the summaries.
std::vector<ReportBand> report_bands(const std::vector<eval::Summary>& summaries);

// A score with the digits of its benchmark.
std::string score_text(const eval::Summary& summary, double score);
// 98.4, one digit.
std::string percent_text(double share);
// The same, "-" for what was not measured.
std::string percent_text(const std::optional<double>& share);

}  // namespace clasp::draw
