// Programs of methods that choose at decoder stages.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "methods/method.h"

namespace clasp::methods {

// The setup's stages as a program, all in the policy's mode, with the same needs.
Program staged_program(const Setup& setup, const StageNeeds& needs);

// Stages of a method's own: the user's if the setup has some, else counts solved for the budget. A shape's
// layer is the first that runs on fewer tokens; in StageMode::After the block before it is the stage's.
// Stages that keep nothing need nothing. Errors as solve_stage_counts(), and a user's stage at layer 0 where
// the stage comes after a block.
Result<Program> own_program(const Setup& setup, std::span<const StageShape> shapes, StageMode mode,
                            const StageNeeds& needs, std::string_view method);

// Layers of the 32-layer decoder that authors used, for a decoder of another depth: at the same relative
// depth, at least one apart.
std::vector<std::size_t> scaled_layers(std::span<const std::size_t> layers, std::size_t n_layers);

// The `keep` live tokens with the highest scores, in the order of live; all for relevance.
void keep_highest(std::span<const TokenIndex> live, std::span<const float> scores, std::size_t keep,
                  Plan& plan);

}  // namespace clasp::methods
