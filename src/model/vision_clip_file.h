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

// The keys that all vision transformers have, with a square grid of patches as tokens.
Result<VisionInfo> read_vit_info(const GgufReader& reader);

// All but what the tensors tell: widths of the projector, types, counts.
Result<VisionInfo> read_clip_info(const GgufReader& reader);

// A picture has no more tokens than this.
inline constexpr std::size_t kMaxVisionTokens = std::size_t{1} << 14;

// fc1 and fc2 of a block by their names in the file. Old converters swapped the two; the one that takes
// the tower's width is fc1.
struct FfnNames {
    std::string first;
    std::string second;
};
FfnNames ffn_names(const GgufReader& reader, const std::string& prefix, std::size_t width);

// The most common type of the matrices that a tower uses, and the number of its parameters. The specs have
// been checked.
void count_weights(const GgufReader& reader, const std::vector<WeightSpec>& specs, VisionInfo& info);

}  // namespace clasp::model
