// ScienceQA: multiple choice, about half of the problems with a picture.
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

constexpr std::string_view kLetters = "ABCDE";

using Prompts = std::unordered_map<std::string, std::string>;

// LLaVA's own wording of each problem, without the placeholder of the picture.
Result<Prompts> read_prompts(const std::string& path) {
    constexpr std::string_view kPlaceholder = "<image>";
    Prompts prompts;
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().objects());
    for (const Record& record : records) {
        CLASP_ASSIGN_OR_RETURN(std::string id, record.id("id"));
        CLASP_ASSIGN_OR_RETURN(const std::vector<Record> turns, record.list("conversations"));
        if (turns.empty()) return record.error("\"conversations\" is empty");
        CLASP_ASSIGN_OR_RETURN(const std::string text, turns.front().text("value"));
        prompts.emplace(std::move(id), strip(replace_all(text, kPlaceholder, "")));
    }
    return prompts;
}

Result<Item> as_item(const std::string& id, const Record& problem, const std::string& images,
                     const Prompts& prompts) {
    Item item;
    item.id = id;
    item.group = id;
    CLASP_ASSIGN_OR_RETURN(item.question, problem.text("question"));
    CLASP_ASSIGN_OR_RETURN(item.options, problem.texts("choices"));
    if (item.options.size() < 2 || item.options.size() > kLetters.size()) {
        return problem.error("has " + std::to_string(item.options.size()) + " choices, not between 2 and 5");
    }
    CLASP_ASSIGN_OR_RETURN(const long long answer, problem.integer("answer"));
    if (answer < 0 || answer >= static_cast<long long>(item.options.size())) {
        return problem.error("\"answer\" is not the number of a choice");
    }
    item.answers.push_back(option_letter(static_cast<std::size_t>(answer)));
    CLASP_ASSIGN_OR_RETURN(const std::string image, problem.text_or_empty("image"));
    if (!image.empty()) item.image = in_folder(images, id + "/" + image);
    CLASP_ASSIGN_OR_RETURN(const std::string hint, problem.text_or_empty("hint"));
    const auto known = prompts.find(id);
    if (known != prompts.end()) {
        item.prompt = known->second + "\n" + std::string(kOptionLetterLine);
    } else {
        const std::string context = hint.empty() ? "" : "Context: " + hint + "\n";
        item.prompt = option_prompt(context + item.question, item.options, kOptionLetterLine);
    }
    CLASP_ASSIGN_OR_RETURN(item.category, problem.text_or_empty("subject"));
    CLASP_ASSIGN_OR_RETURN(item.extra["grade"], problem.text_or_empty("grade"));
    CLASP_ASSIGN_OR_RETURN(item.extra["topic"], problem.text_or_empty("topic"));
    item.extra["image"] = image.empty() ? "no_img" : "img";
    return item;
}

Result<Dataset> load(const std::string& folder, const LoadOptions& options) {
    Dataset dataset;
    dataset.benchmark = "scienceqa";
    dataset.split = options.split.empty() ? "test" : options.split;
    CLASP_ASSIGN_OR_RETURN(const std::string problem_file, find_file(folder, {"problems.json"}));
    CLASP_ASSIGN_OR_RETURN(const std::string split_file, find_file(folder, {"pid_splits.json"}));
    dataset.files = {problem_file, split_file};
    CLASP_ASSIGN_OR_RETURN(const JsonDocument splits, read_document(split_file));
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::string> ids, splits.root().texts(dataset.split));
    Prompts prompts;
    const std::string prompt_file = in_folder(folder, "llava_test_CQM-A.json");
    if (dataset.split == "test" && is_file(prompt_file)) {
        CLASP_ASSIGN_OR_RETURN(prompts, read_prompts(prompt_file));
        dataset.files.push_back(prompt_file);
    }
    const std::string images = find_image_folder(folder, {"images/" + dataset.split, dataset.split});
    CLASP_ASSIGN_OR_RETURN(const JsonDocument problems, read_document(problem_file));
    for (const std::string& id : ids) {
        CLASP_ASSIGN_OR_RETURN(const Record problem, problems.root().object(id));
        CLASP_ASSIGN_OR_RETURN(Item item, as_item(id, problem, images, prompts));
        dataset.items.push_back(std::move(item));
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(split_file));
    return dataset;
}

// The letter after "The answer is ", when that is followed by one more character and occurs exactly once.
std::string stated_letter(std::string_view text) {
    constexpr std::string_view kBefore = "The answer is ";
    std::string letter;
    while (true) {
        const std::size_t at = text.find(kBefore);
        if (at == std::string_view::npos) return letter;
        text.remove_prefix(at + kBefore.size());
        if (text.size() < 2 || text[0] < 'A' || text[0] > 'Z' || text[1] == '\n') continue;
        if (!letter.empty()) return {};
        letter = text.substr(0, 1);
    }
}

// Empty when no letter can be read.
std::string extract(std::string_view text) {
    const bool begins_with_letter = !text.empty() && kLetters.find(text[0]) != std::string_view::npos;
    if (begins_with_letter && (text.size() == 1 || text.substr(1, 2) == ". "))
        return std::string(text.substr(0, 1));
    return stated_letter(text);
}

// "grade3" -> "1-6".
std::string grade_band(const Item& item) {
    const auto number = base::parse_size(replace_all(extra(item, "grade"), "grade", ""));
    if (!number) return {};
    return *number <= 6 ? "1-6" : "7-12";
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return extract(answer) == item.answers.front() ? 1.0 : 0.0;
    });
    std::size_t n_failed = 0;
    for (const auto& answer : answers.texts) n_failed += !answer || extract(*answer).empty() ? 1U : 0U;
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    add_means_by(scores.metrics, "accuracy", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return extra(item, "image"); });
    scores.metrics.push_back({"failed", static_cast<double>(n_failed), 0, dataset.items.size()});
    add_means_by(scores.metrics, "subject", dataset, scores.item_scores, 100.0, 2,
                 [](const Item& item) { return item.category; });
    add_means_by(scores.metrics, "grade", dataset, scores.item_scores, 100.0, 2, grade_band);
    return scores;
}

}  // namespace

Benchmark scienceqa_benchmark() {
    return {.name = "scienceqa",
            .title = "ScienceQA",
            .headline = "percent right over all problems; accuracy.img is what LLaVA prints",
            .max_new_tokens = 1024,
            .has_splits = true,
            .load = load,
            .match = match_by_id,
            .score = score};
}

}  // namespace clasp::eval
