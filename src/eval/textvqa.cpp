// TextVQA: ten answers per question, scored with the M4C normalisation.
#include <unordered_map>

#include "eval/data_folder.h"
#include "eval/record.h"
#include "eval/scoring.h"
#include "eval/sets.h"
#include "eval/vqa_accuracy.h"

namespace clasp::eval {

namespace {

// LLaVA's answers name the picture, not the question: the two together are unique.
std::string join_key(std::string_view image_id, std::string_view question) {
    return std::string(image_id) + "\n" + lower_text(question);
}

// The question inside a prompt; empty when the prompt has none of the known forms.
std::string question_of(std::string_view prompt) {
    if (prompt.starts_with("OCR tokens: ")) {
        constexpr std::string_view kBefore = "Question: ";
        const std::size_t begin = prompt.find(kBefore);
        if (begin == std::string_view::npos) return {};
        prompt.remove_prefix(begin + kBefore.size());
        const std::size_t end = prompt.find(" Short answer:");
        return end == std::string_view::npos ? std::string() : std::string(prompt.substr(0, end));
    }
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at <= prompt.size();) {
        const std::size_t end = std::min(prompt.find('\n', at), prompt.size());
        lines.push_back(prompt.substr(at, end - at));
        at = end + 1;
    }
    if (lines.size() == 2) return std::string(lines[0]);
    if (lines.size() != 3 || prompt.find("Reference OCR token: ") == std::string_view::npos) return {};
    return std::string(prompt.starts_with("Reference OCR token:") ? lines[1] : lines[0]);
}

// First letter upper case, the others lower.
std::string capitalised(std::string_view text) {
    std::string out = lower_text(text);
    if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
    return out;
}

using Prompts = std::unordered_map<std::string, std::string>;

Result<Prompts> read_prompts(const std::string& path) {
    Prompts prompts;
    CLASP_RETURN_IF_ERROR(each_file_line(path, [&](const Record& record) -> Status {
        CLASP_ASSIGN_OR_RETURN(const std::string image_id, record.id("question_id"));
        CLASP_ASSIGN_OR_RETURN(std::string prompt, record.text("text"));
        prompts.emplace(join_key(image_id, question_of(prompt)), std::move(prompt));
        return ok_status();
    }));
    return prompts;
}

Result<Item> as_item(const Record& record, const std::string& images, const Prompts& prompts) {
    Item item;
    CLASP_ASSIGN_OR_RETURN(item.id, record.id("question_id"));
    CLASP_ASSIGN_OR_RETURN(item.group, record.id("image_id"));
    item.image = in_folder(images, item.group + ".jpg");
    CLASP_ASSIGN_OR_RETURN(item.question, record.text("question"));
    const auto prompt = prompts.find(join_key(item.group, item.question));
    item.prompt = prompt != prompts.end() ? prompt->second
                                          : capitalised(item.question) + "\n" + std::string(kShortAnswerLine);
    item.extra["ocr"] = prompt != prompts.end() ? "yes" : "no";
    if (record.has("answers")) {
        CLASP_ASSIGN_OR_RETURN(item.answers, record.texts("answers"));
    }
    return item;
}

Result<Dataset> load(const std::string& folder, const LoadOptions& options) {
    Dataset dataset;
    dataset.benchmark = "textvqa";
    dataset.split = options.split.empty() ? "val" : options.split;
    CLASP_ASSIGN_OR_RETURN(const std::string path,
                           find_file(folder, {"TextVQA_0.5.1_" + dataset.split + ".json"}));
    dataset.files.push_back(path);
    const std::string question_file = in_folder(folder, "llava_textvqa_val_v051_ocr.jsonl");
    Prompts prompts;
    if (is_file(question_file)) {
        CLASP_ASSIGN_OR_RETURN(prompts, read_prompts(question_file));
        dataset.files.push_back(question_file);
    }
    const std::string images =
        find_image_folder(folder, {dataset.split == "test" ? "test_images" : "train_images", "images"});
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, read_document(path));
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().list("data"));
    std::size_t n_without_ocr = 0;
    for (const Record& record : records) {
        CLASP_ASSIGN_OR_RETURN(Item item, as_item(record, images, prompts));
        n_without_ocr += item.extra["ocr"] == "no" ? 1U : 0U;
        dataset.items.push_back(std::move(item));
    }
    if (n_without_ocr > 0) {
        dataset.warnings.push_back(
            std::to_string(n_without_ocr) +
            " questions have no line of OCR tokens (llava_textvqa_val_v051_ocr.jsonl brings it): "
            "answers to them are another setting than LLaVA's");
    }
    CLASP_RETURN_IF_ERROR(check_unique_ids(dataset).with_context(path));
    return dataset;
}

// By the question's own id, or as LLaVA writes it: the picture's id and the question inside the prompt.
Result<Answers> match(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::unordered_map<std::string, std::string_view> ids;
    std::unordered_map<std::string_view, std::string_view> known;
    for (const Item& item : dataset.items) {
        ids.emplace(join_key(item.group, item.question), item.id);
        known.emplace(item.id, item.id);
    }
    std::vector<Prediction> renamed(predictions.begin(), predictions.end());
    for (Prediction& prediction : renamed) {
        if (known.contains(prediction.id)) continue;
        const auto found = ids.find(join_key(prediction.id, question_of(prediction.prompt)));
        if (found != ids.end()) prediction.id = found->second;
    }
    return match_by_id(dataset, renamed);
}

Result<Scores> score(const Dataset& dataset, const Answers& answers, const Judgements* /*judgements*/) {
    CLASP_RETURN_IF_ERROR(check_ten_answers(dataset));
    Scores scores;
    scores.item_scores = grade(dataset, answers, [](const Item& item, const std::string& answer) {
        return vqa_accuracy_m4c(answer, item.answers);
    });
    scores.headline = mean_metric("accuracy", scores.item_scores, 100.0, 2);
    scores.metrics.push_back(scores.headline);
    return scores;
}

}  // namespace

Benchmark textvqa_benchmark() {
    return {.name = "textvqa",
            .title = "TextVQA",
            .headline = "VQA accuracy in percent",
            .has_splits = true,
            .load = load,
            .match = match,
            .score = score};
}

}  // namespace clasp::eval
