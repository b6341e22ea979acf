#include "train/compare_answers.h"

#include <fstream>

#include "base/json.h"

namespace clasp::training {

Result<AnswersById> read_answers(const std::string& path) {
    std::ifstream file(path);
    if (!file) return Status(Code::NotFound, "cannot read the answers " + path);
    AnswersById answers;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        const std::string place = path + ", line " + std::to_string(++number);
        const auto entry = base::parse_json(line, {});
        const base::Json* const id = entry.ok() ? entry->find("question_id") : nullptr;
        const std::string* const text = entry.ok() ? (*entry)["text"].as_string() : nullptr;
        if (id == nullptr || text == nullptr)
            return Status(Code::Corrupt, place + ": not an object with question_id and text");
        const std::string key = id->is_string() ? *id->as_string() : base::dump_json(*id);
        if (!answers.emplace(key, *text).second)
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
