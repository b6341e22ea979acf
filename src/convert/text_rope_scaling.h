// How positions beyond those of the training are reached, from a config to keys and tensors.
#pragma once

#include "convert/text_plan.h"

namespace clasp::convert {

// Sets the base of rotations and, where there is one, their scaling: linear and yarn as keys, that of Llama 3
// and that of Phi 3 as tensors of factors. A dynamic scaling acts beyond the context alone: a note says so.
Status set_rope(const ModelConfig& config, const TextDecoder& decoder, const TextShape& shape,
                std::uint64_t n_rotated, ConversionPlan& plan);

}  // namespace clasp::convert
