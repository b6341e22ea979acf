// What an engine tells about its models.
#pragma once

#include "clasp/engine.h"
#include "model/text_model.h"
#include "model/vision_types.h"

namespace clasp::engine {

// vision: null when the text model is alone.
ModelInfo model_info(const model::TextModel& text, const model::VisionInfo* vision);

}  // namespace clasp::engine
