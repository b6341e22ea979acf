#include "eval/scoring.h"

#include <map>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace clasp::eval {

std::vector<double> grade(const Dataset& dataset, const Answers& answers,
                          const std::function<double(const Item& item, const std::string& answer)>& score) {
    std::vector<double> item_scores(dataset.items.size(), 0.0);
    for (std::size_t i = 0; i < item_scores.size(); ++i) {
        if (answers.texts[i]) item_scores[i] = score(dataset.items[i], *answers.texts[i]);
    }
    return item_scores;
}

namespace {

Metric mean_of(std::string name, double sum, std::size_t n, double scale, int digits) {
    return {std::move(name), n == 0 ? 0.0 : scale * sum / static_cast<double>(n), digits, n};
}

}  // namespace

Metric mean_metric(std::string name, const std::vector<double>& item_scores, double scale, int digits) {
    double sum = 0.0;
    for (const double score : item_scores) sum += score;
    return mean_of(std::move(name), sum, item_scores.size(), scale, digits);
}

void add_means_by(std::vector<Metric>& metrics, std::string_view prefix, const Dataset& dataset,
                  const std::vector<double>& item_scores, double scale, int digits,
                  const std::function<std::string(const Item&)>& key) {
    std::map<std::string, std::pair<double, std::size_t>> sums;
    for (std::size_t i = 0; i < item_scores.size(); ++i) {
        const std::string name = key(dataset.items[i]);
        if (name.empty()) continue;
        auto& [sum, n] = sums[name];
        sum += item_scores[i];
        ++n;
    }
    for (const auto& [name, sum] : sums) {
        metrics.push_back(mean_of(std::string(prefix) + "." + name, sum.first, sum.second, scale, digits));
    }
}

std::string extra(const Item& item, std::string_view name) {
    const auto found = item.extra.find(std::string(name));
    return found == item.extra.end() ? std::string() : found->second;
}

Status check_unique_ids(const Dataset& dataset) {
    std::unordered_set<std::string_view> seen;
    seen.reserve(dataset.items.size());
    for (const Item& item : dataset.items) {
        if (!seen.insert(item.id).second) {
            return {Code::Corrupt,
                    "the question id " + base::in_quotes(item.id) + " occurs twice in the data"};
        }
    }
    return ok_status();
}

std::string option_prompt(std::string_view question, const std::vector<std::string>& options,
                          std::string_view last_line) {
    std::string prompt(question);
    for (std::size_t i = 0; i < options.size(); ++i) {
        prompt += "\n" + option_letter(i) + ". " + options[i];
    }
    prompt += "\n";
    prompt += last_line;
    return prompt;
}

}  // namespace clasp::eval
