// InternVL 2, 2.5 and 3: InternViT, four patches to a token, a projector with a norm in front.
#pragma once

#include <memory>

#include "clasp/status.h"
#include "model/vision_tower.h"

namespace clasp::model {

Result<std::unique_ptr<VisionTower>> open_internvl_tower(const GgufReader& reader);

}  // namespace clasp::model
