// The policy of requests that bring none.
#pragma once

#include <string>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "model/vision_types.h"

namespace clasp::engine {

struct DefaultPolicy {
    Policy policy;
    // A sentence when the tower is shallower than the profile for its kind, so that layers were mapped by
    // depth; else empty.
    std::string note = {};
};

// The model's own, in a file beside it; else the profile of its vision tower, or that of LLaVA mapped by
// depth where the tower has none or lacks a layer of it; without a tower, "llava". Errors: those of
// policy::model_policy().
Result<DefaultPolicy> default_policy(const std::string& model, const model::VisionInfo* vision);

}  // namespace clasp::engine
