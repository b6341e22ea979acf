// Our own scenes, as `clasp-vlm scenes` writes them: questions.jsonl beside images/.
#include "eval/scenes.h"
#include "base/text.h"
#include "clasp/classes.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

Result<Item> as_item(const Record& record, const std::string& folder) {
    Item item;
    CLASP_ASSIGN_OR_RETURN(item.id, record.id("question_id"));
    CLASP_ASSIGN_OR_RETURN(const std::string image, record.text("image"));
    item.image = in_folder(folder, image);
    item.group = image;
    CLASP_ASSIGN_OR_RETURN(item.question, record.text("text"));
    item.prompt = item.question;
    CLASP_ASSIGN_OR_RETURN(std::string answer, record.text("answer"));
    item.answers.push_back(std::move(answer));
    CLASP_ASSIGN_OR_RETURN(const long long class_id, record.integer("class_id"));
    if (class_id < 0 || class_id >= static_cast<long long>(kClassNames.size())) {
        return record.error("\"class_id\" is not between 0 and " + std::to_string(kClassNames.size() - 1));
    }
    item.class_id = static_cast<int>(class_id);
    item.category = kClassNames[static_cast<std::size_t>(class_id)];
    CLASP_ASSIGN_OR_RETURN(item.extra["template"], record.text_or_empty("template"));
    return item;
}

// Exact match, blind to case, outer blanks and a full stop at the end.
std::string cleaned(std::string_view text) {
    text = strip(text);
    while (text.ends_with('.')) text.remove_suffix(1);
    return base::lower(strip(text));
}

Result<Dataset> load(const std::string& folder, const LoadOptions& /*options*/) {
    return load_scenes("scenes", folder);
}

}  // namespace

Result<Dataset> load_scenes(std::string_view benchmark, const std::string& folder) {
    Dataset dataset;
    dataset.benchmark = benchmark;
    CLASP_ASSIGN_OR_RETURN(const std::string path, find_file(folder, {"questions.jsonl"}));
    dataset.files.push_back(path);
    CLASP_RETURN_IF_ERROR(each_file_line(path, [&](const Record& record) -> Status {
        CLASP_ASSIGN_OR_RETURN(Item item, as_item(record, folder));
        dataset.items.push_back(std::move(item));
        return ok_status();
    }));
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    return dataset;
}

Result<Scores> score_scenes(const Dataset& dataset, const Answers& answers,
                            const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return cleaned(answer) == cleaned(item.answers.front()) ? 1.0 : 0.0;
    });
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    add_means_by(scores.metrics, "class", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return item.category; });
    add_means_by(scores.metrics, "template", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return extra(item, "template"); });
    return scores;
}

Benchmark scenes_benchmark() {
    return {.name = "scenes",
            .title = "Scenes",
            .headline = "accuracy in percent (exact match)",
            .max_new_tokens = 32,
            .load = load,
            .match = match_by_id,
            .score = score_scenes};
}

}  // namespace clasp::eval
