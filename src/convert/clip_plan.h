// CLIP's vision transformer as Hugging Face names its tensors, to the names of vision files.
#pragma once

#include <cstdint>
#include <string>

#include "convert/family.h"

namespace clasp::convert {

// What all vision transformers have, and the keys that say it.
struct VitShape {
    std::uint64_t width = 0;
    std::uint64_t ffn_width = 0;
    std::uint64_t n_blocks = 0;  // that the checkpoint has
    std::uint64_t n_kept = 0;    // that lie before the features
    std::uint64_t n_heads = 0;
    std::uint64_t image_size = 0;
    std::uint64_t patch_size = 0;
    double norm_epsilon = 0.0;

    [[nodiscard]] std::uint64_t n_positions() const {
        return (image_size / patch_size) * (image_size / patch_size) + 1;
    }
};
void set_vit_keys(const VitShape& shape, std::uint64_t projection, GgufKeys& keys);

struct ClipShape : VitShape {
    bool is_gelu = false;  // with erf; else x * sigmoid(1.702 x)
};

// `config` describes the tower; `feature_layer` counts hidden states from the end where it is negative.
// Without a default for the activation, a config that does not name it is an error.
Result<ClipShape> read_clip_shape(const ModelConfig& config, std::int64_t feature_layer,
                                  const std::optional<std::string>& activation);
void set_clip_keys(const ClipShape& shape, std::uint64_t projection, GgufKeys& keys);
// Embeddings and blocks from `prefix` ("...vision_model.") to `to` ("v."). What lies behind the features is
// left out.
Status plan_clip_tower(const std::string& prefix, const std::string& to, const ClipShape& shape,
                       TensorPool& pool, OutputFile& file);
// The two matrices and biases of a LLaVA projector to mm.0 and mm.2.
Status plan_llava_projector(const std::string& first, const std::string& second, const ClipShape& shape,
                            std::uint64_t text_width, TensorPool& pool, OutputFile& file);

// Another checkpoint, or only a config, for a tower: the folder that was given, else one of the tower's name
// in the checkpoint's folder or beside it.
struct TowerFolder {
    std::string folder;  // empty: there is none
    ModelConfig config;  // of the tower
};
Result<TowerFolder> find_tower_folder(const FamilyInput& input, const std::string& tower_name);

}  // namespace clasp::convert
