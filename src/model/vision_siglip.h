// SigLIP's vision tower with the projectors of SmolVLM and of Gemma 3.
#pragma once

#include <memory>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/vision_tower.h"

namespace clasp::model {

// Projector type "idefics3": SmolVLM, SmolVLM2, Idefics3.
Result<std::unique_ptr<VisionTower>> open_smolvlm_tower(const GgufReader& reader);
// Projector type "gemma3".
Result<std::unique_ptr<VisionTower>> open_gemma3_tower(const GgufReader& reader);

}  // namespace clasp::model
