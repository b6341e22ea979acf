// VizWiz: questions of blind people about their own photographs, ten answers each, many unanswerable.
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"
#include "eval/vqa_accuracy.h"

namespace clasp::eval {

namespace {

constexpr std::string_view kUnanswerableLine =
    "When the provided information is insufficient, respond with 'Unanswerable'.";

Result<Dataset> load(const std::string& folder, const LoadOptions& options) {
    Dataset dataset;
    dataset.benchmark = "vizwiz";
    std::vector<std::string> names;
    for (const char* split : {"val", "test", "train"}) {
        if (!options.split.empty() && options.split != split) continue;
        names.push_back(std::string(split) + ".json");
        names.push_back("Annotations/" + std::string(split) + ".json");
    }
    if (names.empty()) names.push_back(options.split + ".json");
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_file(folder, names));
    dataset.files.push_back(path);
    const std::size_t slash = path.find_last_of('/') + 1;
    dataset.split = path.substr(slash, path.size() - slash - std::string_view(".json").size());
    const std::string images = find_image_folder(folder, {dataset.split, "images"});
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().objects());
    for (const Record& record : records) {
        Item item;
        item.id = std::to_string(dataset.items.size());  // LLaVA counts the entries from 0
        CLASP_ASSIGN_OR_RETURN(item.group, record.text("image"));
        item.image = in_folder(images, item.group);
        CLASP_ASSIGN_OR_RETURN(item.question, record.text("question"));
        item.prompt =
            item.question + "\n" + std::string(kUnanswerableLine) + "\n" + std::string(kShortAnswerLine);
        CLASP_ASSIGN_OR_RETURN(item.category, record.text_or_empty("answer_type"));
        if (record.has("answers")) {
            CLASP_ASSIGN_OR_RETURN(const std::vector<Record> answers, record.list("answers"));
            for (const Record& answer : answers) {
                CLASP_ASSIGN_OR_RETURN(std::string text, answer.text("answer"));
                item.answers.push_back(std::move(text));
            }
        }
        dataset.items.push_back(std::move(item));
    }
    return dataset;
}

// By number, or by picture as uploads name it: every picture has one question.
Result<Answers> match(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::map<std::string, std::string> ids;
    for (const Item& item : dataset.items) ids.emplace(item.group, item.id);
    std::vector<Prediction> renamed(predictions.begin(), predictions.end());
    for (Prediction& prediction : renamed) {
        const auto found = ids.find(prediction.id);
        if (found != ids.end()) prediction.id = found->second;
    }
    return match_by_id(dataset, renamed);
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    CLASP_RETURN_IF_ERROR(check_public_answers(dataset));
    Scores scores;
    // Answers go through M4C before they are uploaded, and the server normalises as VQAv2 does.
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return vqa_accuracy_v2(normalise_m4c(answer), item.answers);
    });
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    add_means_by(scores.metrics, "answer_type", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return item.category; });
    return scores;
}

}  // namespace

Benchmark vizwiz_benchmark() {
    return {.name = "vizwiz",
            .title = "VizWiz",
            .headline = "VQA accuracy in percent",
            .has_splits = true,
            .load = load,
            .match = match,
            .score = score};
}

}  // namespace clasp::eval
