// Video-LLaVA: two CLIP-like towers in one file, one for pictures and one for the frames of clips, and
// LLaVA's projector for both.
#pragma once

#include <memory>

#include "clasp/status.h"
#include "model/vision_tower.h"

namespace clasp::model {

Result<std::unique_ptr<VisionTower>> open_videollava_tower(const GgufReader& reader);

}  // namespace clasp::model
