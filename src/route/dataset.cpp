#include "route/dataset.h"

#include <algorithm>

#include "base/json.h"

namespace clasp::route {

namespace {

Status bad_line(std::size_t line, std::string_view what) {
    return {Code::Corrupt, "line " + std::to_string(line) + ": " + std::string(what)};
}

Result<Question> parse_question(std::string_view line, std::size_t number) {
    const auto parsed = base::parse_json(line, {});
    if (!parsed) return bad_line(number, parsed.status().message());
    const base::Json& json = *parsed;
    if (!json.is_object()) return bad_line(number, "not a JSON object");
    Question question;
    if (!json["text"].get_to(question.text)) return bad_line(number, "has no string \"text\"");
    if (const base::Json* const set = json.find("benchmark"); set != nullptr) {
        if (!set->get_to(question.benchmark)) return bad_line(number, "\"benchmark\" is not a string");
    }
    if (const base::Json& intent = json["intent"]; !intent.is_null()) {
        if (!intent.get_to(question.intent)) return bad_line(number, "\"intent\" is not a string");
    }
    if (const base::Json& category = json["category"]; !category.is_null()) {
        if (!category.is_number_integer()) return bad_line(number, "\"category\" is not a whole number");
        const auto id = category.get<int>();
        if (!id || *id < 0 || *id > 1000000) {
            return bad_line(number, "\"category\" is not between 0 and 1000000");
        }
        question.class_id = *id;
    }
    return question;
}

}  // namespace

Result<std::vector<Question>> parse_questions(std::string_view json_lines) {
    std::vector<Question> questions;
    std::size_t number = 0;
    while (!json_lines.empty()) {
        const std::size_t end = std::min(json_lines.find('\n'), json_lines.size());
        const std::string_view line = json_lines.substr(0, end);
        json_lines.remove_prefix(std::min(end + 1, json_lines.size()));
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        CLASP_ASSIGN_OR_RETURN(Question question, parse_question(line, number));
        questions.push_back(std::move(question));
    }
    return questions;
}

}  // namespace clasp::route
