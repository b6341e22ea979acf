// Vision files of kinds that have no tower here but that libmtmd knows: it encodes whole pictures, and their
// projected tokens are pruned like any other. Nothing of its layers can be seen, so none are mixed.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/vision_tower.h"

namespace clasp::model {

bool is_mtmd_projector(std::string_view projector_type);
std::vector<std::string_view> mtmd_projector_types();

// For types of which is_mtmd_projector() is true. libmtmd itself is only needed once the file is loaded.
Result<std::unique_ptr<VisionTower>> open_mtmd_tower(const GgufReader& reader, std::string_view type);

}  // namespace clasp::model
