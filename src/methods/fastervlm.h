// FasterVLM: the patches to which the encoder's class token pays most attention.
#pragma once

#include <cstddef>
#include <span>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// class_attention: one probability per patch, the class token's row of the feature block, mean over heads.
// Keeps exactly keep patches in raster order, all of them when keep covers them.
Result<Plan> fastervlm(std::span<const float> class_attention, std::size_t keep);

}  // namespace clasp::methods
