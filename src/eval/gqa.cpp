// GQA: one short answer per question, exact equality after the clean-up of LLaVA's conversion script.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultSplit = "testdev_balanced";

// Steps of the functional program, without those that only name or test for existence.
Result<std::size_t> count_steps(const Record& record) {
    if (!record.has("semantic")) return std::size_t{0};
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> steps, record.list("semantic"));
    std::size_t n = 0;
    for (const Record& step : steps) {
        CLASP_ASSIGN_OR_RETURN(std::string text, step.text("operation"));
        CLASP_ASSIGN_OR_RETURN(const std::string argument, step.text_or_empty("argument"));
        text.append(": ").append(argument);
        const bool is_named_out = text.find("exist") != std::string::npos ||
                                  text.find("query: name") != std::string::npos ||
                                  text.find("choose name") != std::string::npos;
        if (!is_named_out) ++n;
    }
    return n;
}

Result<Item> as_item(const std::string& id, const Record& record, const std::string& images) {
    Item item;
    item.id = id;
    CLASP_ASSIGN_OR_RETURN(item.question, record.text("question"));
    item.prompt = item.question + "\n" + std::string(kShortAnswerLine);
    CLASP_ASSIGN_OR_RETURN(const std::string image_id, record.id("imageId"));
    item.image = in_folder(images, image_id + ".jpg");
    item.group = image_id;
    CLASP_ASSIGN_OR_RETURN(std::string answer, record.text("answer"));
    item.answers.push_back(std::move(answer));
    CLASP_ASSIGN_OR_RETURN(const Record types, record.object("types"));
    CLASP_ASSIGN_OR_RETURN(item.category, types.text("structural"));
    CLASP_ASSIGN_OR_RETURN(item.extra["semantic"], types.text("semantic"));
    CLASP_ASSIGN_OR_RETURN(item.extra["detailed"], types.text_or_empty("detailed"));
    item.extra["words"] = std::to_string(words(item.question).size());
    CLASP_ASSIGN_OR_RETURN(const std::size_t n_steps, count_steps(record));
    item.extra["steps"] = std::to_string(n_steps);
    if (record.has("groups")) {
        CLASP_ASSIGN_OR_RETURN(const Record groups, record.object("groups"));
        CLASP_ASSIGN_OR_RETURN(item.extra["global_group"], groups.text_or_empty("global"));
    }
    return item;
}

// A split is one file, or a folder of chunks.
Result<std::vector<std::string>> split_files(const std::string& folder, const std::string& split) {
    const std::string name = split + "_questions";
    for (const char* place : {"", "questions1.2", "data/questions1.2", "data"}) {
        const std::string chunks = in_folder(in_folder(folder, place), name);
        if (!is_folder(chunks)) continue;
        std::vector<std::string> files;
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(chunks, error)) {
            if (entry.path().extension() == ".json") files.push_back(entry.path().string());
        }
        std::sort(files.begin(), files.end());
        if (!files.empty()) return files;
    }
    const std::string file = name + ".json";
    CLASP_ASSIGN_OR_RETURN(std::string path, find_file(folder, {file, "questions1.2/" + file, "data/" + file,
                                                                "data/questions1.2/" + file}));
    return std::vector<std::string>{std::move(path)};
}

Result<Dataset> load(const std::string& folder, const LoadOptions& options) {
    Dataset dataset;
    dataset.benchmark = "gqa";
    dataset.split = options.split.empty() ? std::string(kDefaultSplit) : options.split;
    CLASP_ASSIGN_OR_RETURN(dataset.files, split_files(folder, dataset.split));
    const std::string images = find_image_folder(folder, {"images", "data/images"});
    std::size_t n_unbalanced = 0;
    for (const std::string& path : dataset.files) {
        CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
        CLASP_ASSIGN_OR_RETURN(const auto entries, document.root().entries());
        for (const auto& [id, record] : entries) {
            CLASP_ASSIGN_OR_RETURN(const bool is_balanced, record.boolean("isBalanced"));
            if (!is_balanced) {
                ++n_unbalanced;
                continue;
            }
            CLASP_ASSIGN_OR_RETURN(Item item, as_item(id, record, images));
            dataset.items.push_back(std::move(item));
        }
    }
    if (n_unbalanced > 0) {
        dataset.warnings.push_back(
            std::to_string(n_unbalanced) +
            " questions outside the balanced set are left out, as the official score does");
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset));
    return dataset;
}

std::string cleaned(std::string_view text) {
    while (text.ends_with('.')) text.remove_suffix(1);
    return lower_text(text);
}

using Counts = std::map<std::string, std::size_t>;

// How far the answers' distribution per group is from the true one: a chi-square weighted by group size,
// over 100. Lower is better.
double distribution_distance(const Dataset& dataset, const Answers& answers) {
    std::map<std::string, std::pair<Counts, Counts>> groups;  // true and given answers
    for (std::size_t i = 0; i < dataset.items.size(); ++i) {
        const std::string group = extra(dataset.items[i], "global_group");
        if (group.empty()) continue;
        auto& [gold, given] = groups[group];
        ++gold[dataset.items[i].answers.front()];
        if (answers.texts[i]) ++given[cleaned(*answers.texts[i])];
    }
    double weighted = 0.0;
    double total = 0.0;
    for (const auto& [name, counts] : groups) {
        const auto& [gold, given] = counts;
        double distance = 0.0;
        double size = 0.0;
        for (const auto& [answer, n] : gold) {
            const auto found = given.find(answer);
            const double expected = static_cast<double>(n);
            const double observed = found == given.end() ? 0.0 : static_cast<double>(found->second);
            distance += (observed - expected) * (observed - expected) / expected;
            size += expected;
        }
        weighted += distance * size;
        total += size;
    }
    return total > 0.0 ? weighted / total / 100.0 : 0.0;
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return cleaned(answer) == item.answers.front() ? 1.0 : 0.0;
    });
    const auto by = [&](std::string_view prefix, const std::function<std::string(const Item&)>& key) {
        add_means_by(scores.metrics, prefix, dataset, scores.item_scores, 100.0, 2, key);
    };
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    by("kind", [](const Item& item) { return item.category == "query" ? "open" : "binary"; });
    for (Metric& metric : scores.metrics) {  // the official tool names these two without a prefix
        if (metric.name.starts_with("kind.")) metric.name.erase(0, 5);
    }
    scores.metrics.push_back(
        {"distribution", distribution_distance(dataset, answers), 2, dataset.items.size()});
    by("structural", [](const Item& item) { return item.category; });
    for (const char* name : {"semantic", "steps", "words", "detailed"}) {
        by(name, [name](const Item& item) { return extra(item, name); });
    }
    return scores;
}

}  // namespace

Benchmark gqa_benchmark() {
    return {.name = "gqa",
            .title = "GQA",
            .headline = "accuracy in percent",
            .has_splits = true,
            .load = load,
            .match = match_by_id,
            .score = score};
}

}  // namespace clasp::eval
