// The report of an evaluation as one HTML file: the table in the paper's layout, curves over budgets, heat
// maps per class, paired comparisons, and the worst regressions with their token maps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "eval/summary.h"

namespace clasp::draw {

// A question that pruning got wrong, ready to show.
struct RegressionCase {
    std::string title;  // which row
    std::string question;
    std::string expected;
    std::string unpruned;  // answers
    std::string pruned;
    std::vector<std::uint8_t> map_png;  // may be empty
};

struct EvalReport {
    std::string title;
    std::vector<eval::Summary> summaries;  // one per benchmark
    std::vector<RegressionCase> cases;
    std::string command;  // that makes it again; may be empty
};

std::string eval_report_html(const EvalReport& report);
std::string eval_report_markdown(const EvalReport& report);

}  // namespace clasp::draw
