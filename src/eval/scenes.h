// What our own scenes, still and moving, share: files of one form and one rule.
#pragma once

#include <string>
#include <string_view>

#include "eval/benchmark.h"

namespace clasp::eval {

// questions.jsonl of `clasp-vlm scenes` in this folder, as the data of this benchmark.
Result<Dataset> load_scenes(std::string_view benchmark, const std::string& folder);

// Exact match, over all, per class and per form of question.
Result<Scores> score_scenes(const Dataset& dataset, const Answers& answers, const Judgements* judgements);

}  // namespace clasp::eval
