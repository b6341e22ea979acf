// Answer files, and how answers find their questions.
#include <algorithm>
#include <unordered_map>

#include "eval/benchmark.h"
#include "eval/record.h"

namespace clasp::eval {

namespace {

Result<std::string> answer_text(const Record& record) {
    for (const std::string_view key : {"text", "pred", "prediction", "answer"}) {
        if (record.has(key)) return record.text(key);
    }
    return record.text("text");
}

Result<Prediction> as_prediction(const Record& record) {
    Prediction prediction;
    CLASP_ASSIGN_OR_RETURN(prediction.id, record.id_of({"question_id", "questionId", "id", "image"}));
    CLASP_ASSIGN_OR_RETURN(prediction.text, answer_text(record));
    CLASP_ASSIGN_OR_RETURN(prediction.prompt, record.text_or_empty("prompt"));
    return prediction;
}

// {"v1_0": "text", ...}, as MM-Vet's tool takes it.
Result<std::vector<Prediction>> from_object(const Record& root) {
    CLASP_ASSIGN_OR_RETURN(const auto entries, root.entries());
    std::vector<Prediction> predictions;
    for (const auto& [id, record] : entries) {
        auto text = record.as_text();
        if (!text) return record.error("the answer is not a string");
        predictions.push_back({id, *std::move(text), {}});
    }
    return predictions;
}

// A file of one JSON value, rather than one per line, begins with "[" or with "{" and a line end.
bool is_one_value(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    if (text[first] == '[') return true;
    const std::size_t second = text.find_first_not_of(" \t\r", first + 1);
    return text[first] == '{' && (second == std::string_view::npos || text[second] == '\n');
}

}  // namespace

Result<std::vector<Prediction>> parse_predictions(std::string_view text) {
    std::vector<Prediction> predictions;
    const auto take = [&predictions](const Record& record) -> Status {
        CLASP_ASSIGN_OR_RETURN(Prediction prediction, as_prediction(record));
        predictions.push_back(std::move(prediction));
        return ok_status();
    };
    if (!is_one_value(text)) {
        CLASP_RETURN_IF_ERROR(each_json_line(text, take));
        return predictions;
    }
    CLASP_ASSIGN_OR_RETURN(const JsonDocument document, parse_document(text, "the answers"));
    if (document.root().is_object()) return from_object(document.root());
    CLASP_ASSIGN_OR_RETURN(const std::vector<Record> records, document.root().objects());
    for (const Record& record : records) CLASP_RETURN_IF_ERROR(take(record));
    return predictions;
}

Result<std::vector<Prediction>> read_predictions(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const std::string text, read_data_file(path));
    auto predictions = parse_predictions(text);
    if (!predictions) return predictions.status().with_context(path);
    return predictions;
}

Result<Answers> match_by_id(const Dataset& dataset, std::span<const Prediction> predictions) {
    std::unordered_map<std::string_view, std::size_t> places;
    places.reserve(dataset.items.size());
    for (std::size_t i = 0; i < dataset.items.size(); ++i) places.emplace(dataset.items[i].id, i);
    std::vector<std::optional<std::string>> texts(dataset.items.size());
    std::vector<std::string> unknown;
    std::vector<std::string> repeated;
    for (const Prediction& prediction : predictions) {
        const auto place = places.find(prediction.id);
        if (place == places.end()) {
            unknown.push_back(prediction.id);
            continue;
        }
        std::optional<std::string>& text = texts[place->second];
        if (text) repeated.push_back(prediction.id);
        text = prediction.text;
    }
    Answers answers = in_item_order(dataset, std::move(texts));
    answers.unknown = std::move(unknown);
    answers.repeated = std::move(repeated);
    return answers;
}

Answers in_item_order(const Dataset& dataset, std::vector<std::optional<std::string>> texts) {
    Answers answers;
    answers.texts = std::move(texts);
    answers.texts.resize(dataset.items.size());
    for (std::size_t i = 0; i < answers.texts.size(); ++i) {
        if (!answers.texts[i]) answers.missing.push_back(dataset.items[i].id);
    }
    return answers;
}

}  // namespace clasp::eval
