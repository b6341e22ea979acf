// VisionZip: the most attended patches stay as they are (dominant), the rest is merged into a few evenly
// spaced ones (contextual).
#pragma once

#include <span>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// What a contextual token is made of.
enum class VisionzipMerge {
    Sum,   // the target plus the mean of those assigned to it: the authors' code
    Mean,  // the mean of the target and those assigned to it
};

struct VisionzipOptions {
    double contextual_share = 10.0 / 64.0;  // of the budget; 10, 20 and 30 of 64, 128 and 192 as published
    bool forwards_class = true;             // the class token takes one dominant place
    VisionzipMerge merge = VisionzipMerge::Sum;
};

// class_attention as for FasterVLM (a sum over heads ranks alike); keys: cosines of the patches' keys of
// the same block, mean over heads. Emits the class token if it is forwarded, the dominant patches in raster
// order, then the contextual ones in raster order: exactly keep tokens. All patches as they were, without
// the class token, when keep covers them.
Result<Plan> visionzip(std::span<const float> class_attention, const GramView& keys, std::size_t keep,
                       const VisionzipOptions& options);

}  // namespace clasp::methods
