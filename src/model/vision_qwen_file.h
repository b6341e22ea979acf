// What the vision files of Qwen2-VL, Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL say of themselves, and the tensors
// they must have.
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

// What llama.cpp puts around every picture.
inline constexpr std::string_view kQwenVisionStart = "<|vision_start|>";
inline constexpr std::string_view kQwenVisionEnd = "<|vision_end|>";

// What sets one generation apart from another.
struct QwenGeneration {
    std::string_view projector_type;  // clip.projector_type
    std::string_view family;
    bool has_rms_norms = false;  // else layer norms with biases
    bool has_gate = false;       // feed-forward part with a gate
    bool has_windows = false;    // most blocks see windows alone
    bool may_swap_ffn = true;    // early files have fc1 and fc2 by each other's names
    bool has_fused_qkv = false;  // query, key and value are one matrix in the file
    bool has_positions = false;  // a bias of patches, and a table of positions that is stretched over them
    bool has_deepstack = false;  // some blocks have mergers of their own
    Activation activation = Activation::QuickGelu;
    TokenRange tokens;              // of a picture, by the original's processor
    std::string_view profile = {};  // VisionInfo::profile
    // How the steps of a clip know their time: positions of so many a second, or one a step where this is 0,
    bool has_time_stamps = false;  // or words before each step, which stands in marks of its own
    double positions_per_second = 0.0;
    // Around pictures and clips.
    std::string_view start = kQwenVisionStart;
    std::string_view end = kQwenVisionEnd;
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
                                             .profile = "qwen2.5-vl",
                                             .positions_per_second = 2.0};

// The same tower, in a file that can hold one for sound as well. The tokens of the marks have other names.
inline constexpr QwenGeneration kQwen25Omni = [] {
    QwenGeneration omni = kQwen25Vl;
    omni.projector_type = "qwen2.5o";
    omni.family = "qwen2.5-omni";
    omni.positions_per_second = 25.0;
    omni.start = "<|vision_bos|>";
    omni.end = "<|vision_eos|>";
    return omni;
}();

inline constexpr QwenGeneration kQwen3Vl = {.projector_type = "qwen3vl_merger",
                                            .family = "qwen3-vl",
                                            .may_swap_ffn = false,
                                            .has_fused_qkv = true,
                                            .has_positions = true,
                                            .has_deepstack = true,
                                            .activation = Activation::Gelu,
                                            .tokens = {64, 16384},
                                            .has_time_stamps = true};

// Of clips, by the authors' utility code: two frames a second, at least 4, an even number; tokens of a frame,
// and of all of them together.
inline constexpr video::SampleRule kQwenSampling = {.places = video::SampleRule::Places::Ends,
                                                    .n_frames = 0,
                                                    .fps = 2.0,
                                                    .min_frames = 4,
                                                    .max_frames = 768,
                                                    .multiple = 2};
inline constexpr TokenRange kQwenFrameTokens = {128, 768};
inline constexpr double kQwenClipTokens = 0.9 * 128000.0;

struct QwenFile {
    const QwenGeneration* generation = nullptr;
    VisionInfo info;
    // Tokens per side of a window, and every how many blocks one sees the whole picture; 0: all do.
    std::size_t window = 0;
    std::size_t window_pattern = 0;
    std::size_t position_side = 0;  // rows and columns of the table of positions; 0: none
    MlpProjector merger;
    std::vector<WeightSpec> specs;

    [[nodiscard]] bool sees_all(std::size_t block) const {
        return window_pattern == 0 || (block + 1) % window_pattern == 0;
    }
    // Of the feed-forward part in memory: kernels want whole vectors, so rows of zeros are added.
    [[nodiscard]] std::size_t padded_ffn_width() const;
    // Of the rows of a token, one after the other.
    [[nodiscard]] std::size_t merged_width() const {
        return info.capabilities.merge * info.capabilities.merge * info.width;
    }
    // Values of a patch, and as its rows are kept in memory.
    [[nodiscard]] std::size_t patch_values() const { return 3 * info.patch_size * info.patch_size; }
    [[nodiscard]] std::size_t padded_patch_values() const;
};

// Reads the keys and checks every tensor.
Result<QwenFile> read_qwen_file(const GgufReader& reader, const QwenGeneration& generation);

}  // namespace clasp::model
