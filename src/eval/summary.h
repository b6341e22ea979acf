// From answers to the table: per variant the benchmark's score, its share of the unpruned score, loyalty,
// intervals and classes; between variants paired comparisons.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "clasp/status.h"
#include "eval/benchmark.h"
#include "eval/runner.h"
#include "eval/statistics.h"
#include "eval/variant.h"

namespace clasp::eval {

// What a row is a row of; enough to find its answers without the variant itself.
struct RowSpec {
    std::string label;
    std::string method;
    std::string budget;
    std::string variant;      // key
    std::string policy_name;  // empty for the unpruned model
    std::string policy_hash;
    std::string budget_kind = "average";
};
RowSpec row_spec(const Variant& variant, std::size_t max_tokens);

struct ClassScore {
    std::size_t id = 0;
    std::string name;
    std::size_t n = 0;
    double score = 0.0;  // 100 x mean item score
};

struct Row : RowSpec {
    double score = 0.0;  // the benchmark's headline
    Interval ci95;       // of the headline; questions on one picture are resampled together
    // Absent when the unpruned model was not run.
    std::optional<double> relative;  // score / unpruned score
    std::optional<Interval> relative_ci95;
    std::optional<double> loyalty;
    std::vector<Metric> metrics;
    std::vector<ClassScore> per_class;
    std::size_t n_answered = 0;
    std::size_t n_stopped_at_limit = 0;
    double average_tokens = 0.0;
    // Sums over questions of what every row does for itself: the prompt's reading and the answer. Pictures
    // are decoded and encoded once for all rows (Summary::encode_seconds), except for methods that merge
    // inside the encoder.
    double prefill_seconds = 0.0;
    double decode_seconds = 0.0;
    std::optional<double> encode_seconds;  // of a method with an encoder of its own
    std::vector<double> item_scores;
};

// Against the best of the same budget, a row that was asked for, or the unpruned model.
struct Comparison {
    std::string budget;
    std::string a;
    std::string b;
    PairedComparison result;  // in item scores, 0 to 1
};

// A question that the unpruned model answers better.
struct Regression {
    std::size_t row = 0;
    std::size_t item = 0;  // place in the data set
    std::string unpruned_text;
    std::string text;
};

struct Summary {
    std::string benchmark;
    std::string title;
    std::string headline;
    double scale = 100.0;
    std::string split;
    std::string model;
    std::size_t n_questions = 0;
    std::size_t n_pictures = 0;
    double encode_seconds = 0.0;  // decoding and encoding pictures for all rows together
    std::vector<Row> rows;
    std::vector<Comparison> comparisons;
    std::vector<Regression> regressions;  // of the tightest budgets first
    std::vector<Unasked> missing_images;
    std::vector<Unasked> without_picture;
    std::vector<std::string> notes;
};

struct SummaryRequest {
    const Benchmark* benchmark = nullptr;
    const Dataset* dataset = nullptr;  // the questions to count: an unanswered one is wrong
    std::vector<RowSpec> rows;
    std::vector<std::string> class_names;  // by id; empty: the nine of the paper
    const RecordTable* records = nullptr;
    const Judgements* judgements = nullptr;
    std::string model;
    std::vector<std::string> against;  // labels of rows that every row of their budget is compared with
    std::size_t max_regressions = 12;
    BootstrapOptions bootstrap;
};

// Error: not_found when no row has one of the labels, naming those there are.
Status check_against(const std::vector<RowSpec>& rows, const std::vector<std::string>& labels);

Result<Summary> summarise(const SummaryRequest& request);

// "rows" has one entry per method and budget: the unpruned row appears once for each of `methods`, or as it
// is when there are none. Item scores are left out.
base::Json summary_json(const Summary& summary, const std::vector<std::string>& methods = {});

}  // namespace clasp::eval
