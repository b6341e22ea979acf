// What the vision files of Qwen2-VL, Qwen2.5-VL and Qwen3-VL say of themselves, and the tensors they must
// have.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "model/gguf_reader.h"
#include "model/projector_mlp.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

// What sets one generation apart from another.
struct QwenGeneration {
    std::string_view projector_type;  // clip.projector_type
    std::string_view family;
    bool has_rms_norms = false;  // else layer norms with biases
    bool has_gate = false;       // feed-forward part with a gate
    bool has_windows = false;    // most blocks see windows alone
    Activation activation = Activation::QuickGelu;
    TokenRange tokens;              // of a picture, by the original's processor
    std::string_view profile = {};  // VisionInfo::profile
};

inline constexpr QwenGeneration kQwen2Vl = {
    .projector_type = "qwen2vl_merger", .family = "qwen2-vl", .tokens = {4, 16384}, .profile = "qwen2.5-vl"};
inline constexpr QwenGeneration kQwen25Vl = {.projector_type = "qwen2.5vl_merger",
                                             .family = "qwen2.5-vl",
                                             .has_rms_norms = true,
                                             .has_gate = true,
                                             .has_windows = true,
                                             .activation = Activation::Silu,
                                             .tokens = {4, 16384},
                                             .profile = "qwen2.5-vl"};

struct QwenFile {
    const QwenGeneration* generation = nullptr;
    VisionInfo info;
    // Tokens per side of a window, and every how many blocks one sees the whole picture; 0: all do.
    std::size_t window = 0;
    std::size_t window_pattern = 0;
    MlpProjector merger;
    std::vector<WeightSpec> specs;

    [[nodiscard]] bool sees_all(std::size_t block) const {
        return window_pattern == 0 || (block + 1) % window_pattern == 0;
    }
    // Of the feed-forward part in memory: kernels want whole vectors, so rows of zeros are added.
    [[nodiscard]] std::size_t padded_ffn_width() const;
    // Values of a patch, and as its rows are kept in memory.
    [[nodiscard]] std::size_t patch_values() const { return 3 * info.patch_size * info.patch_size; }
    [[nodiscard]] std::size_t padded_patch_values() const;
};

// Reads the keys and checks every tensor.
Result<QwenFile> read_qwen_file(const GgufReader& reader, const QwenGeneration& generation);

}  // namespace clasp::model
