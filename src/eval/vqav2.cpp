// VQAv2: ten answers per question, scored with the toolkit's own normalisation.
#include <array>
#include <string>
#include <unordered_map>

#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"
#include "eval/vqa_accuracy.h"

namespace clasp::eval {

namespace {

struct Annotation {
    std::vector<std::string> answers;
    std::string answer_type;
    std::string question_type;
};

using Annotations = std::unordered_map<std::string, Annotation>;

Result<Annotations> read_annotations(const std::string& path) {
    Annotations annotations;
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().list("annotations"));
    annotations.reserve(records.size());
    for (const Record& record : records) {
        Annotation annotation;
        CLASP_ASSIGN_OR_RETURN(std::string id, record.id("question_id"));
        CLASP_ASSIGN_OR_RETURN(annotation.answer_type, record.text("answer_type"));
        CLASP_ASSIGN_OR_RETURN(annotation.question_type, record.text("question_type"));
        CLASP_ASSIGN_OR_RETURN(const std::vector<Record> answers, record.list("answers"));
        for (const Record& answer : answers) {
            CLASP_ASSIGN_OR_RETURN(std::string text, answer.text("answer"));
            annotation.answers.push_back(std::move(text));
        }
        if (!annotations.emplace(id, std::move(annotation)).second) {
            return record.error("question " + id + " is annotated twice");
        }
    }
    return annotations;
}

// The split whose question file is there; labelled ones first.
Result<std::string> find_split(const std::string& folder, const std::string& wanted) {
    constexpr std::array<std::string_view, 4> kSplits = {"val2014", "test-dev2015", "train2014", "test2015"};
    std::vector<std::string> names;
    for (const std::string_view split : kSplits) {
        if (!wanted.empty() && wanted != split) continue;
        std::string name = "v2_OpenEnded_mscoco_" + std::string(split) + "_questions.json";
        if (is_file(in_folder(folder, name))) return std::string(split);
        names.push_back(std::move(name));
    }
    if (names.empty()) names.push_back("v2_OpenEnded_mscoco_" + wanted + "_questions.json");
    return find_file(folder, names).status();
}

// test-dev is a part of test: both share the pictures of test2015.
std::string image_name(const std::string& split, const std::string& image_id) {
    const std::string set = split == "test-dev2015" ? "test2015" : split;
    const std::string zeros(image_id.size() < 12 ? 12 - image_id.size() : 0, '0');
    return set + "/COCO_" + set + "_" + zeros + image_id + ".jpg";
}

Result<Dataset> load(const std::string& folder, const LoadOptions& options) {
    Dataset dataset;
    dataset.benchmark = "vqav2";
    CLASP_ASSIGN_OR_RETURN(dataset.split, find_split(folder, options.split));
    const std::string path = in_folder(folder, "v2_OpenEnded_mscoco_" + dataset.split + "_questions.json");
    dataset.files.push_back(path);
    Annotations annotations;
    const std::string annotation_file = in_folder(folder, "v2_mscoco_" + dataset.split + "_annotations.json");
    const bool has_labels = is_file(annotation_file);
    if (has_labels) {
        CLASP_ASSIGN_OR_RETURN(annotations, read_annotations(annotation_file));
        dataset.files.push_back(annotation_file);
    }
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().list("questions"));
    for (const Record& record : records) {
        Item item;
        CLASP_ASSIGN_OR_RETURN(item.id, record.id("question_id"));
        CLASP_ASSIGN_OR_RETURN(item.group, record.id("image_id"));
        item.image = in_folder(folder, image_name(dataset.split, item.group));
        CLASP_ASSIGN_OR_RETURN(item.question, record.text("question"));
        item.prompt = item.question + "\n" + std::string(kShortAnswerLine);
        const auto annotation = annotations.find(item.id);
        if (annotation != annotations.end()) {
            item.answers = std::move(annotation->second.answers);
            item.category = annotation->second.answer_type;
            item.extra["question_type"] = annotation->second.question_type;
            annotations.erase(annotation);
        } else if (has_labels) {
            return record.error("question " + item.id + " has no annotation in " + annotation_file);
        }
        dataset.items.push_back(std::move(item));
    }
    if (!annotations.empty()) {
        dataset.warnings.push_back(std::to_string(annotations.size()) + " annotations in " + annotation_file +
                                   " belong to no question");
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    return dataset;
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    CLASP_RETURN_IF_ERROR(check_public_answers(dataset));
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return vqa_accuracy_v2(answer, item.answers);
    });
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    // What the same answers score after LLaVA's conversion: without it a capital letter is an error where
    // all ten people agree.
    const auto converted = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return vqa_accuracy_v2(normalise_m4c(answer), item.answers);
    });
    scores.metrics.push_back(mean_metric("accuracy_m4c", converted, 100.0, 2));
    add_means_by(scores.metrics, "answer_type", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return item.category; });
    add_means_by(scores.metrics, "question_type", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return extra(item, "question_type"); });
    return scores;
}

}  // namespace

Benchmark vqav2_benchmark() {
    return {.name = "vqav2",
            .title = "VQAv2",
            .headline = "VQA accuracy in percent",
            .has_splits = true,
            .convert = normalise_m4c,
            .load = load,
            .match = match_by_id,
            .score = score};
}

}  // namespace clasp::eval
