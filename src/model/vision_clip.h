// CLIP vision transformers with a class token and LLaVA's projector (LLaVA-1.5, LLaVA-NeXT and relatives).
#pragma once

#include <memory>

#include "clasp/status.h"
#include "model/vision_tower.h"

namespace clasp::model {

Result<std::unique_ptr<VisionTower>> open_clip_tower(const GgufReader& reader);

}  // namespace clasp::model
