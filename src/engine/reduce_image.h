// From an image's encoded layers to its tokens, with a method's hooks after the encoder and after the
// projector.
#pragma once

#include <cstddef>

#include "engine/visual_input.h"
#include "model/vision_model.h"

namespace clasp::engine {

// merged: the members of the layers' rows when the method already merged inside the encoder, else null.
// Adds the times of its steps to `times`, and a report of what left to times.reports.
Result<SeenImage> reduce_image(const VisualRequest& request, std::size_t image,
                               const model::VisionLayers& layers,
                               const std::vector<std::vector<TokenIndex>>* merged,
                               model::VisionSession& session, VisualInput& times);

}  // namespace clasp::engine
