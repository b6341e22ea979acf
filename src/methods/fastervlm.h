// FasterVLM: the patches to which the encoder's class token pays most attention.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "clasp/status.h"
#include "methods/method.h"
#include "methods/plan.h"

namespace clasp::methods {

// class_attention: one probability per patch, the class token's row of the feature block, mean over heads.
// Keeps exactly keep patches in raster order, all of them when keep covers them.
Result<Plan> fastervlm(std::span<const float> class_attention, std::size_t keep);

// A run that keeps those, for every method that comes down to it on one view.
Result<std::unique_ptr<MethodRun>> start_most_attended(const Setup& setup, std::string_view method);

}  // namespace clasp::methods
