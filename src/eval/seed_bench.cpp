// SEED-Bench, version 1, the questions on pictures: multiple choice with four options.
#include <map>

#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

Result<Item> as_item(const Record& record, const std::string& images) {
    Item item;
    CLASP_ASSIGN_OR_RETURN(item.id, record.id("question_id"));
    CLASP_ASSIGN_OR_RETURN(item.question, record.text("question"));
    for (const char* key : {"choice_a", "choice_b", "choice_c", "choice_d"}) {
        CLASP_ASSIGN_OR_RETURN(std::string choice, record.id(key));  // some choices are bare numbers
        item.options.push_back(std::move(choice));
    }
    item.prompt = option_prompt(item.question, item.options, kOptionLetterLine);
    CLASP_ASSIGN_OR_RETURN(std::string answer, record.text("answer"));
    if (answer.size() != 1 || answer[0] < 'A' || answer[0] > 'D') {
        return record.error("\"answer\" is not one of A, B, C, D");
    }
    item.answers.push_back(std::move(answer));
    CLASP_ASSIGN_OR_RETURN(item.group, record.id("data_id"));
    item.image = in_folder(images, item.group);
    CLASP_ASSIGN_OR_RETURN(item.extra["type"], record.id("question_type_id"));
    return item;
}

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    Dataset dataset;
    dataset.benchmark = "seed-bench";
    dataset.split = "image";
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_file(folder, {"SEED-Bench.json"}));
    dataset.files.push_back(path);
    const std::string images = find_image_folder(folder, {"SEED-Bench-image"});
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    std::map<std::string, std::string> type_names;
    if (document.root().has("question_type")) {
        CLASP_ASSIGN_OR_RETURN(const Record types, document.root().object("question_type"));
        CLASP_ASSIGN_OR_RETURN(const auto entries, types.entries());
        for (const auto& [name, id] : entries) {
            if (const auto number = id.as_id()) type_names[*number] = name;
        }
    }
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().list("questions"));
    std::map<std::string, std::size_t> seen;
    std::size_t n_video = 0;
    for (const Record& record : records) {
        CLASP_ASSIGN_OR_RETURN(const std::string kind, record.text("data_type"));
        if (kind != "image") {
            ++n_video;
            continue;
        }
        CLASP_ASSIGN_OR_RETURN(Item item, as_item(record, images));
        item.category =
            type_names.contains(item.extra["type"]) ? type_names[item.extra["type"]] : item.extra["type"];
        // One id occurs twice in the official file; both questions count.
        if (const std::size_t n = ++seen[item.id]; n > 1) {
            dataset.warnings.push_back("the question id " + item.id +
                                       " occurs more than once; an answer to it counts "
                                       "for each");
            item.extra["official_id"] = item.id;
            item.id += "#" + std::to_string(n);
        }
        dataset.items.push_back(std::move(item));
    }
    if (n_video > 0) {
        dataset.warnings.push_back(std::to_string(n_video) + " questions on videos are left out");
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    return dataset;
}

// An answer to a repeated id serves every question with it, unless the question's own name is answered.
Result<Answers> match(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::map<std::string, std::string> repeated;
    for (const Item& item : dataset.items) {
        if (item.extra.contains("official_id")) repeated.emplace(extra(item, "official_id"), item.id);
    }
    std::vector<Prediction> all;
    for (const Prediction& prediction : predictions) {
        const auto found = repeated.find(prediction.id);
        if (found != repeated.end()) all.push_back({found->second, prediction.text, prediction.prompt});
    }
    all.insert(all.end(), predictions.begin(), predictions.end());
    return match_by_id(dataset, all);
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return answer == item.answers.front() ? 1.0 : 0.0;
    });
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    add_means_by(scores.metrics, "type", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return item.category; });
    return scores;
}

}  // namespace

Benchmark seed_bench_benchmark() {
    return {.name = "seed-bench",
            .title = "SEED-Bench (images)",
            .headline = "accuracy in percent",
            .load = load,
            .match = match,
            .score = score};
}

}  // namespace clasp::eval
