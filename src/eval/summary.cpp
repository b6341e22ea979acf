#include "eval/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "clasp/classes.h"

namespace clasp::eval {

namespace {

// Scoring whole resamples is slow, so metrics that are not means get fewer of them.
constexpr std::size_t kMetricReplicates = 200;

// What all rows share.
struct Frame {
    const SummaryRequest& request;
    Clusters clusters;
    std::vector<std::size_t> classes;  // of each item: the benchmark's label, else the router's
    std::vector<std::string> class_names;
};

std::vector<std::optional<std::string>> texts_of(const Dataset& dataset, const RecordTable& records,
                                                 const std::string& key) {
    std::vector<std::optional<std::string>> texts(dataset.items.size());
    const auto found = records.find(key);
    if (found == records.end()) return texts;
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const auto record = found->second.find(dataset.items[i].id);
        if (record != found->second.end()) texts[i] = record->second.text;
    }
    return texts;
}

// The headline of a resample. Copies of a group get names of their own, or they would be one group.
Result<Interval> bootstrap_headline(const Frame& frame,
                                    const std::vector<std::optional<std::string>>& texts) {
    const SummaryRequest& request = frame.request;
    const Dataset& dataset = *request.dataset;
    Status failed;
    BootstrapOptions options = request.bootstrap;
    options.replicates = std::min(options.replicates, kMetricReplicates);
    const Interval interval = bootstrap_statistic(
        frame.clusters,
        [&](std::span<const std::size_t> items) {
            Dataset sample;
            sample.benchmark = dataset.benchmark;
            sample.split = dataset.split;
            std::vector<std::optional<std::string>> sampled;
            std::map<std::size_t, std::size_t> copies;
            for (const std::size_t item : items) {
                const std::size_t copy = copies[item]++;
                sample.items.push_back(dataset.items[item]);
                const std::string suffix = "#" + std::to_string(copy);
                sample.items.back().id += suffix;
                if (!sample.items.back().group.empty()) sample.items.back().group += suffix;
                sampled.push_back(texts[item]);
            }
            const Answers answers = in_item_order(sample, std::move(sampled));
            const auto scores = request.benchmark->score(sample, answers, request.judgements);
            if (!scores) failed = scores.status();
            return scores ? scores->headline.value : 0.0;
        },
        options);
    if (!failed.ok()) return failed;
    return interval;
}

std::vector<ClassScore> class_scores(const Frame& frame, const std::vector<double>& item_scores) {
    std::map<std::size_t, std::pair<double, std::size_t>> sums;
    for (std::size_t i = 0; i < item_scores.size(); ++i) {
        auto& [sum, n] = sums[frame.classes[i]];
        sum += item_scores[i];
        ++n;
    }
    std::vector<ClassScore> result;
    for (const auto& [id, entry] : sums) {
        result.push_back({id, id < frame.class_names.size() ? frame.class_names[id] : std::to_string(id),
                          entry.second, 100.0 * entry.first / static_cast<double>(entry.second)});
    }
    return result;
}

// Adds what the row shares with others to shared_seconds.
void count_answers(const Frame& frame, Row& row, double& shared_seconds) {
    const auto found = frame.request.records->find(row.variant);
    if (found == frame.request.records->end()) return;
    double tokens = 0.0;
    for (const Item& item : frame.request.dataset->items) {
        const auto record = found->second.find(item.id);
        if (record == found->second.end()) continue;
        ++row.n_answered;
        row.n_stopped_at_limit += record->second.stopped_at_limit ? 1U : 0U;
        row.prefill_seconds += record->second.prefill_ms / 1000.0;
        row.decode_seconds += record->second.decode_ms / 1000.0;
        if (record->second.has_own_encoder) {
            row.encode_seconds = row.encode_seconds.value_or(0.0) + record->second.encode_ms / 1000.0;
        } else {
            shared_seconds += record->second.encode_ms / 1000.0;
        }
        tokens += record->second.average_tokens;
    }
    if (row.n_answered > 0) row.average_tokens = tokens / static_cast<double>(row.n_answered);
}

Result<Row> make_row(const Frame& frame, const RowSpec& spec, double& shared_seconds) {
    const SummaryRequest& request = frame.request;
    Row row;
    static_cast<RowSpec&>(row) = spec;
    std::vector<std::optional<std::string>> texts = texts_of(*request.dataset, *request.records, row.variant);
    if (request.benchmark->convert != nullptr) {
        for (std::optional<std::string>& text : texts) {
            if (text) text = request.benchmark->convert(*text);
        }
    }
    const Answers answers = in_item_order(*request.dataset, texts);
    CLASP_ASSIGN_OR_RETURN(Scores scores,
                           request.benchmark->score(*request.dataset, answers, request.judgements));
    row.score = scores.headline.value;
    row.metrics = std::move(scores.metrics);
    row.item_scores = std::move(scores.item_scores);
    row.per_class = class_scores(frame, row.item_scores);
    if (request.benchmark->is_mean) {
        const Interval interval = bootstrap_mean(row.item_scores, frame.clusters, request.bootstrap);
        row.ci95 = {interval.low * request.benchmark->scale, interval.high * request.benchmark->scale};
    } else {
        CLASP_ASSIGN_OR_RETURN(row.ci95, bootstrap_headline(frame, texts));
    }
    count_answers(frame, row, shared_seconds);
    return row;
}

// Shares and loyalty, once the unpruned model's row is known.
void relate(const Frame& frame, const Row& unpruned, Row& row) {
    const Dataset& dataset = *frame.request.dataset;
    if (unpruned.score > 0.0) {
        row.relative = row.score / unpruned.score;
        if (frame.request.benchmark->is_mean) {
            row.relative_ci95 = bootstrap_ratio(row.item_scores, unpruned.item_scores, frame.clusters,
                                                frame.request.bootstrap);
        }
    }
    const auto mine = texts_of(dataset, *frame.request.records, row.variant);
    const auto theirs = texts_of(dataset, *frame.request.records, unpruned.variant);
    std::vector<std::string> answers;
    std::vector<std::string> references;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        if (!mine[i] || !theirs[i]) continue;
        answers.push_back(*mine[i]);
        references.push_back(*theirs[i]);
    }
    if (!answers.empty()) row.loyalty = loyalty(answers, references);
}

const Row* best_of(const std::vector<Row>& rows, const std::string& budget) {
    const Row* best = nullptr;
    for (const Row& row : rows) {
        if (row.budget == budget && (best == nullptr || mean(row.item_scores) > mean(best->item_scores))) {
            best = &row;
        }
    }
    return best;
}

const Row* find_row(const std::vector<Row>& rows, const std::string& label, const std::string& budget) {
    const auto found = std::ranges::find_if(
        rows, [&](const Row& row) { return row.label == label && row.budget == budget; });
    return found == rows.end() ? nullptr : &*found;
}

std::vector<Comparison> compare_rows(const Frame& frame, const std::vector<Row>& rows, const Row* unpruned) {
    std::vector<Comparison> comparisons;
    const auto add = [&](const Row& a, const Row& b) {
        comparisons.push_back(
            {a.budget, a.label, b.label,
             compare_paired(a.item_scores, b.item_scores, frame.clusters, frame.request.bootstrap)});
    };
    for (const Row& row : rows) {
        if (&row == unpruned) continue;
        if (unpruned != nullptr) add(row, *unpruned);
        const Row* best = best_of(rows, row.budget);
        if (best != &row) add(row, *best);
        for (const std::string& label : frame.request.against) {
            const Row* other = find_row(rows, label, row.budget);
            if (other != nullptr && other != &row && other != best) add(row, *other);
        }
    }
    return comparisons;
}

// Questions that cost the most against the unpruned model, taken in turn from the rows, later rows (tighter
// budgets) first.
std::vector<Regression> find_regressions(const Frame& frame, const std::vector<Row>& rows,
                                         const Row* unpruned) {
    std::vector<Regression> regressions;
    if (unpruned == nullptr) return regressions;
    const Dataset& dataset = *frame.request.dataset;
    const RecordTable& records = *frame.request.records;
    const auto reference = texts_of(dataset, records, unpruned->variant);
    std::set<std::size_t> shown;
    for (std::size_t r = rows.size(); r-- > 0;) {
        if (&rows[r] == unpruned) continue;
        const auto texts = texts_of(dataset, records, rows[r].variant);
        std::vector<std::pair<double, std::size_t>> losses;
        for (std::size_t i = 0; i < dataset.items.size(); ++i) {
            const double loss = unpruned->item_scores[i] - rows[r].item_scores[i];
            if (loss > 0.0 && texts[i] && reference[i] && !shown.contains(i)) losses.emplace_back(-loss, i);
        }
        std::sort(losses.begin(), losses.end());
        const std::size_t share = std::max<std::size_t>(1, frame.request.max_regressions / rows.size());
        for (std::size_t k = 0; k < std::min(share, losses.size()); ++k) {
            const std::size_t item = losses[k].second;
            shown.insert(item);
            regressions.push_back({r, item, *reference[item], *texts[item]});
        }
        if (regressions.size() >= frame.request.max_regressions) break;
    }
    return regressions;
}

// Some methods cannot meet every budget; what they did instead must not stand under its name unsaid.
void note_missed_budgets(Summary& summary) {
    constexpr double kMissedShare = 0.05;  // the published schedules average up to 4 % less than they say
    for (const Row& row : summary.rows) {
        const auto asked = parse_budget(row.budget);
        if (!asked.ok() || asked->kind != BudgetSpec::Kind::Tokens || row.budget_kind != "average") continue;
        if (row.n_answered == 0 || std::abs(row.average_tokens - asked->value) <= kMissedShare * asked->value)
            continue;
        summary.notes.push_back(row.label + " at budget " + row.budget + " had " +
                                base::format_number(row.average_tokens, 1) +
                                " visual tokens per layer on average");
    }
}

Result<Frame> make_frame(const SummaryRequest& request) {
    Frame frame{request, {}, {}, {}};
    std::vector<std::string> names;
    for (const Item& item : request.dataset->items) names.push_back(cluster_name(item));
    frame.clusters = clusters_by_name(names);
    CLASP_ASSIGN_OR_RETURN(frame.classes, route_items(*request.dataset, ClassSource::Truth));
    frame.class_names = request.class_names;
    if (frame.class_names.empty()) frame.class_names.assign(kClassNames.begin(), kClassNames.end());
    return frame;
}

}  // namespace

RowSpec row_spec(const Variant& variant, std::size_t max_tokens) {
    RowSpec spec = {
        variant.label,      variant.method, variant.budget, variant_key(variant, max_tokens), {}, {},
        variant.budget_kind};
    if (!variant.is_vanilla() && variant.policy) {
        spec.policy_name = variant.policy->name;
        spec.policy_hash = policy_hash(*variant.policy);
        if (spec.method.empty()) spec.method = variant.policy->method;
    }
    return spec;
}

Status check_against(const std::vector<RowSpec>& rows, const std::vector<std::string>& labels) {
    const auto has_row = [&](const std::string& label) {
        return std::ranges::find(rows, label, &RowSpec::label) != rows.end();
    };
    const auto missing = std::ranges::find_if_not(labels, has_row);
    if (missing == labels.end()) return {};
    std::set<std::string_view> known;
    for (const RowSpec& row : rows) known.insert(row.label);
    return {Code::NotFound, "no row is called " + base::in_quotes(*missing) + " to compare with; there are " +
                                base::join(std::vector<std::string_view>(known.begin(), known.end()))};
}

Result<Summary> summarise(const SummaryRequest& request) {
    CLASP_RETURN_IF_ERROR(check_against(request.rows, request.against));
    CLASP_ASSIGN_OR_RETURN(const Frame frame, make_frame(request));
    Summary summary;
    summary.benchmark = std::string(request.benchmark->name);
    summary.title = std::string(request.benchmark->title);
    summary.headline = std::string(request.benchmark->headline);
    summary.scale = request.benchmark->scale;
    summary.split = request.dataset->split;
    summary.model = request.model;
    summary.n_questions = request.dataset->items.size();
    summary.n_pictures = frame.clusters.count;
    summary.notes = request.dataset->warnings;
    for (const RowSpec& spec : request.rows) {
        CLASP_ASSIGN_OR_RETURN(Row row, make_row(frame, spec, summary.encode_seconds));
        summary.rows.push_back(std::move(row));
    }
    const auto found = std::find_if(summary.rows.begin(), summary.rows.end(),
                                    [](const Row& row) { return row.budget == "none"; });
    const Row* unpruned = found != summary.rows.end() ? &*found : nullptr;
    if (unpruned == nullptr) {
        summary.notes.emplace_back(
            "the unpruned model was not run, so there is no relative score or loyalty");
    } else {
        for (Row& row : summary.rows) relate(frame, *unpruned, row);
    }
    note_missed_budgets(summary);
    summary.comparisons = compare_rows(frame, summary.rows, unpruned);
    summary.regressions = find_regressions(frame, summary.rows, unpruned);
    return summary;
}

}  // namespace clasp::eval
