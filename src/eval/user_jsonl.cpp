// The user's own questions: JSON Lines with "image", "question" and "answers" (a list of strings that are
// all right, or one string). "id", "prompt", "category" and "class_id" are optional.
#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"
#include "eval/vqa_accuracy.h"

namespace clasp::eval {

namespace {

namespace fs = std::filesystem;

Result<std::vector<std::string>> read_answers(const Record& record) {
    const std::string_view key = record.has("answers") ? "answers" : "answer";
    if (record.has(key) && !record.has_text(key)) return record.texts(key);
    CLASP_ASSIGN_OR_RETURN(std::string answer, record.text(key));
    return std::vector<std::string>{std::move(answer)};
}

Result<Item> as_item(const Record& record, const std::string& folder, std::size_t index) {
    Item item;
    item.id = std::to_string(index);
    for (const char* key : {"question_id", "id"}) {
        if (!record.has(key)) continue;
        CLASP_ASSIGN_OR_RETURN(item.id, record.id(key));
        break;
    }
    CLASP_ASSIGN_OR_RETURN(const std::string image, record.text_or_empty("image"));
    if (!image.empty()) item.image = in_folder(folder, image);
    item.group = image.empty() ? item.id : image;
    CLASP_ASSIGN_OR_RETURN(item.question, record.text(record.has("question") ? "question" : "text"));
    CLASP_ASSIGN_OR_RETURN(item.prompt, record.text_or_empty("prompt"));
    if (item.prompt.empty()) item.prompt = item.question;
    CLASP_ASSIGN_OR_RETURN(item.answers, read_answers(record));
    if (item.answers.empty()) return record.error("\"answers\" is empty");
    CLASP_ASSIGN_OR_RETURN(item.category, record.text_or_empty("category"));
    if (record.has("class_id")) {
        CLASP_ASSIGN_OR_RETURN(const long long class_id, record.integer("class_id"));
        if (class_id < 0 || class_id > 1000000) {
            return record.error("\"class_id\" is not between 0 and 1000000");
        }
        item.class_id = static_cast<int>(class_id);
    }
    return item;
}

// The file itself, questions.jsonl in the folder, or its only .jsonl file.
Result<std::string> find_questions(const std::string& path) {
    if (is_file(path)) return path;
    if (is_file(in_folder(path, "questions.jsonl"))) return in_folder(path, "questions.jsonl");
    std::error_code error;
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path, error)) {
        if (entry.path().extension() == ".jsonl") found.push_back(entry.path().string());
    }
    if (error) {
        return Status(Code::NotFound,
                      "cannot open the data folder " + base::path_in_quotes(path) + ": " + error.message());
    }
    if (found.size() == 1) return found.front();
    return Status(Code::NotFound, "the data folder " + base::path_in_quotes(path) +
                                      " has no questions.jsonl and not exactly one other .jsonl file");
}

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    Dataset dataset;
    dataset.benchmark = "jsonl";
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_questions(folder));
    dataset.files.push_back(path);
    const std::string beside = fs::path(path).parent_path().string();
    CLASP_RETURN_IF_ERROR(each_file_line(path, [&](const Record& record) -> Status {
        CLASP_ASSIGN_OR_RETURN(Item item, as_item(record, beside, dataset.items.size()));
        dataset.items.push_back(std::move(item));
        return ok_status();
    }));
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    return dataset;
}

double any_equal(const Item& item, const std::string& answer) {
    const std::string predicted = normalise_m4c(answer);
    return std::any_of(item.answers.begin(), item.answers.end(),
                       [&](const std::string& right) { return normalise_m4c(right) == predicted; })
               ? 1.0
               : 0.0;
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, any_equal);
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    const auto exact = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return std::any_of(item.answers.begin(), item.answers.end(),
                           [&](const std::string& right) { return strip(right) == strip(answer); })
                   ? 1.0
                   : 0.0;
    });
    scores.metrics.push_back(mean_metric("exact", exact, 100.0, 2));
    const bool all_have_ten =
        !dataset.items.empty() && std::all_of(dataset.items.begin(), dataset.items.end(),
                                              [](const Item& item) { return item.answers.size() == 10; });
    if (all_have_ten) {
        const auto agreement = grade(dataset, answers, [](const Item& item, const std::string& answer) {
            return vqa_accuracy_m4c(answer, item.answers);
        });
        scores.metrics.push_back(mean_metric("vqa_accuracy", agreement, 100.0, 2));
    }
    add_means_by(scores.metrics, "category", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return item.category; });
    return scores;
}

}  // namespace

Benchmark jsonl_benchmark() {
    return {.name = "jsonl",
            .title = "JSON Lines",
            .headline = "answers equal to one of the right ones after normalisation, in percent",
            .load = load,
            .match = match_by_id,
            .score = score};
}

}  // namespace clasp::eval
