// The policy of requests that bring none.
#pragma once

#include <string>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "model/vision_types.h"

namespace clasp::engine {

// The model's own, in a file beside it; else the profile of its vision tower; without a tower, "llava".
// Errors: those of policy::model_policy().
Result<Policy> default_policy(const std::string& model, const model::VisionInfo* vision);

}  // namespace clasp::engine
