// How probable each of a few fixed answers is, by a chat model that is made to write one of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "engine/chat_model.h"

namespace clasp::engine {

// Probability of each answer behind `prompt`, summing to one: at each token where answers part, the model's
// probabilities of the tokens that lead on to one of them, and of no others. Answers are cut into tokens as
// the vocabulary cuts them; none is empty. What all of them share is read at once. Errors are those of
// ChatModel::read(), and Corrupt where the model's logits are not numbers.
Result<std::vector<double>> score_answers(ChatModel& model, std::span<const std::int32_t> prompt,
                                          const std::vector<std::vector<std::int32_t>>& answers,
                                          ChatModel::Clock::time_point deadline);

}  // namespace clasp::engine
