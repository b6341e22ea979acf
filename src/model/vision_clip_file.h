// What CLIP's vision files say of themselves: keys, and names that differ between converters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

// All but what the tensors tell: widths of the projector, types, counts.
Result<VisionInfo> read_clip_info(const GgufReader& reader);

// fc1 and fc2 of a block by their names in the file. Old converters swapped the two; the one that takes
// the tower's width is fc1.
struct FfnNames {
    std::string first;
    std::string second;
};
FfnNames ffn_names(const GgufReader& reader, const std::string& prefix, std::size_t width);

// The most common type of the matrices that a tower uses.
std::string common_type(const GgufReader& reader, const std::vector<WeightSpec>& specs);

}  // namespace clasp::model
