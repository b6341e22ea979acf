// VQA accuracy: agreement with ten human answers after a normalisation that exists in two variants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "eval/benchmark.h"

namespace clasp::eval {

// The variant of the VQA v2 toolkit, applied only where the ten answers differ.
std::string normalise_v2(std::string_view answer);

// The variant that TextVQA's evaluation uses, and that LLaVA applies before it uploads answers.
std::string normalise_m4c(std::string_view answer);

// Score for a prediction that equals `n_equal` of ten answers: the mean over the annotators of
// min(equal among the other nine / 3, 1).
double agreement_score(std::size_t n_equal);

// Both expect ten answers (check_ten_answers).
double vqa_accuracy_v2(std::string_view prediction, const std::vector<std::string>& answers);
double vqa_accuracy_m4c(std::string_view prediction, const std::vector<std::string>& answers);

// Corrupt, naming the question, unless each has exactly ten.
Status check_ten_answers(const Dataset& dataset);
// Unsupported for a split whose answers only the benchmark's server has; else as check_ten_answers.
Status check_public_answers(const Dataset& dataset);

}  // namespace clasp::eval
