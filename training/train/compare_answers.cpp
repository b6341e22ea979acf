#include "train/compare_answers.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace clasp::training {

Result<AnswersById> read_answers(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Status(Code::NotFound, "cannot read the answers " + path);
    AnswersById answers;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        const std::string place = path + ", line " + std::to_string(++number);
        const auto entry = nlohmann::json::parse(line, nullptr, false);
        if (!entry.is_object() || !entry.contains("question_id") || !entry.contains("text") ||
            !entry["text"].is_string())
            return Status(Code::Corrupt, place + ": not an object with question_id and text");
        const auto& id = entry["question_id"];
        const std::string key = id.is_string() ? id.get<std::string>() : id.dump();
        if (!answers.emplace(key, entry["text"].get<std::string>()).second)
            return Status(Code::InvalidArgument, place + ": a second answer to question " + key +
                                                     "; run eval with --budgets none alone");
    }
    return answers;
}

AnswerComparison compare_answers(const AnswersById& ours, const AnswersById& theirs) {
    AnswerComparison comparison;
    for (const auto& [id, text] : ours) {
        const auto at = theirs.find(id);
        if (at == theirs.end())
            ++comparison.missing;
        else if (at->second == text)
            ++comparison.equal;
        else
            comparison.different.push_back({id, text, at->second});
    }
    return comparison;
}

}  // namespace clasp::training
