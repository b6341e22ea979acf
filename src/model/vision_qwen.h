// The towers of Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL: pictures keep their shape, patches turn by
// row and column, four patches become a token.
#pragma once

#include <memory>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/vision_tower.h"

namespace clasp::model {

Result<std::unique_ptr<VisionTower>> open_qwen2_tower(const GgufReader& reader);
Result<std::unique_ptr<VisionTower>> open_qwen25_tower(const GgufReader& reader);
Result<std::unique_ptr<VisionTower>> open_qwen25_omni_tower(const GgufReader& reader);
Result<std::unique_ptr<VisionTower>> open_qwen3_tower(const GgufReader& reader);

}  // namespace clasp::model
