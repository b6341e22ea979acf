// What scorers share: means of item scores, over all questions and per category.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/benchmark.h"
#include "eval/plain_text.h"

namespace clasp::eval {

// 1 for right, 0 for wrong and missing, item by item.
std::vector<double> grade(const Dataset& dataset, const Answers& answers,
                          const std::function<double(const Item& item, const std::string& answer)>& score);

// scale x the mean over all items; 0 when there are none.
Metric mean_metric(std::string name, const std::vector<double>& item_scores, double scale, int digits);

// One mean per value of `key`, named "prefix.value", in the order of the names. Items with an empty key
// are left out.
void add_means_by(std::vector<Metric>& metrics, std::string_view prefix, const Dataset& dataset,
                  const std::vector<double>& item_scores, double scale, int digits,
                  const std::function<std::string(const Item&)>& key);

// The value of an extra, empty when the item has none of that name.
std::string extra(const Item& item, std::string_view name);

// Corrupt when two items have the same id: no answer could be joined to them.
Status check_unique_ids(const Dataset& dataset);

// "A" for 0.
inline std::string option_letter(std::size_t index) {
    return std::string(1, static_cast<char>('A' + static_cast<int>(index)));
}

// Question, options as "A. text" and a last line, each on its own line.
std::string option_prompt(std::string_view question, const std::vector<std::string>& options,
                          std::string_view last_line);

inline constexpr std::string_view kShortAnswerLine = "Answer the question using a single word or phrase.";
inline constexpr std::string_view kOptionLetterLine =
    "Answer with the option's letter from the given choices directly.";

}  // namespace clasp::eval
