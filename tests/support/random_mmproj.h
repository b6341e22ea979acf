// Vision files in the formats of LLaVA and InternVL with random weights: small ones for tests, a
// LLaVA-1.5-sized one for measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ggml.h"

namespace clasp::test {

// What InternVL's files have that LLaVA's have not.
struct InternvlParts {
    std::size_t merge = 2;
    std::int32_t min_tiles = 0;  // 0: no key
    std::int32_t max_tiles = 0;
    bool has_norm_bias = true;  // false: RMSNorm
    bool has_qkv_bias = true;
    std::size_t qk_norm_width = 0;  // 0: none
};

// What Video-LLaVA's files have that LLaVA's have not.
struct VideoParts {
    std::size_t n_frames = 8;
    bool has_time = true;          // attention over time
    bool keeps_class_row = true;   // of frames
    bool is_port = false;          // Hugging Face's; false: the authors'
    bool is_language_bind = true;  // how frames are resampled; false: as CLIP's pictures
    bool has_own_tower = true;     // for frames; false: but for the class token it is that for pictures
};

struct MmprojSpec {
    std::size_t image_size = 56;
    std::size_t patch_size = 14;
    std::size_t width = 64;
    std::size_t n_heads = 4;
    std::size_t ffn_width = 128;
    std::size_t n_blocks = 4;
    std::size_t projector_width = 96;
    std::size_t output_width = 96;
    ggml_type matrix_type = GGML_TYPE_F16;
    bool swapped_ffn_names = true;  // as LLaVA's own converter writes them
    bool use_gelu = false;          // the key clip.use_gelu; false means quick GELU
    std::vector<std::int32_t> feature_layer;
    // Channels of the residual stream that are far larger than the rest, as in trained towers: they are
    // what makes low precision hard.
    std::size_t outlier_channels = 0;
    std::uint64_t seed = 1;
    // LLaVA-NeXT: widths and heights one after the other; empty for LLaVA-1.5.
    std::vector<std::int32_t> pinpoints = {};
    std::string merge_type = "spatial_unpad";          // with pinpoints; no key when empty
    std::string newline_name = "model.image_newline";  // with pinpoints; no tensor when empty
    std::optional<InternvlParts> internvl = {};        // none for LLaVA
    std::optional<VideoParts> video = {};              // none for LLaVA
    // "mlp" is CLIP's tower with LLaVA's projector; others are those of random_siglip.h.
    std::string projector_type = "mlp";
    std::size_t merge = 2;         // of SigLIP: patches per side that become a token; no key when 0
    std::size_t longest_side = 0;  // of SmolVLM: no key when 0
};

// InternVL's tower with four tokens to a tile of 56 pixels.
MmprojSpec internvl_mmproj(const InternvlParts& parts = {});

// The same tower with the five resolutions of LLaVA-NeXT, in tiles of its own size.
MmprojSpec tiled(MmprojSpec spec);

// A small tower for pictures and one for frames of clips, as Video-LLaVA's.
MmprojSpec videollava_mmproj(const VideoParts& parts = {});
// Video-LLaVA-7B's shape: ViT-L/14 at 224 pixels without the last block, twice.
MmprojSpec videollava_7b_mmproj(const VideoParts& parts = {});

// CLIP ViT-L/14-336 without its last block, and LLaVA-1.5-7B's projector.
MmprojSpec llava_7b_mmproj();

void write_random_mmproj(const MmprojSpec& spec, std::ostream& out);
std::string random_mmproj(const MmprojSpec& spec);

// Pixels of a smooth random picture, normalised: 3 planes of image_size x image_size.
std::vector<float> random_pixels(std::size_t image_size, std::uint64_t seed);

}  // namespace clasp::test
