// From an image's encoded layers to its tokens, with a method's hooks after the encoder and after the
// projector.
#pragma once

#include <cstddef>

#include "engine/visual_input.h"
#include "model/vision_model.h"

namespace clasp::engine {

// A picture as the encoder left it.
struct EncodedPicture {
    const model::VisionPlan& plan;
    std::vector<SharedLayers> pieces;  // in the order of the plan's
    // Of the rows when the method already merged inside the encoder, which takes one piece; else null.
    const std::vector<std::vector<TokenIndex>>* members = nullptr;
};

// Adds the times of its steps to `times`, and a report of what left to times.reports; times.images holds the
// images before this one. Hooks before the projector, and what they read of the encoder, take a tower
// without merging: see method_fit.h.
Result<SeenImage> reduce_image(const VisualRequest& request, std::size_t image, const EncodedPicture& encoded,
                               model::VisionSession& session, VisualInput& times);

}  // namespace clasp::engine
