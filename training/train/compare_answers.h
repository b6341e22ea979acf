// The trainer's answers against those of another program, question by question.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "clasp/status.h"

namespace clasp::training {

using AnswersById = std::map<std::string, std::string>;

// From JSON Lines with `question_id` (a number or a text) and `text`; other fields are not read.
// A file with two answers to one question is refused: it holds more than the unpruned run.
Result<AnswersById> read_answers(const std::string& path);

struct AnswerDifference {
    std::string question_id;
    std::string ours;
    std::string theirs;
};

struct AnswerComparison {
    int equal = 0;
    int missing = 0;  // of ours, not answered by them
    std::vector<AnswerDifference> different;
};

AnswerComparison compare_answers(const AnswersById& ours, const AnswersById& theirs);

}  // namespace clasp::training
