// A vision transformer as graph nodes: patches, and a class token if it has one, get learned positions and
// run through blocks of attention and a feed-forward part. CLIP, InternViT and SigLIP are of this kind; what
// they differ in are traits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "clasp/fuse.h"
#include "ggml.h"
#include "model/full_attention.h"
#include "model/gguf_reader.h"
#include "model/linear.h"
#include "model/vision_tower.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

struct VitTraits {
    // RMSNorm of queries and keys before attention.
    enum class QkNorm : std::uint8_t { None, Head, Width };

    bool has_class_token = true;
    bool has_tanh_gelu = false;  // where the file says GELU, the original has the tanh form of it
    bool has_patch_bias = false;
    bool has_pre_norm = false;  // before the first block
    bool has_norm_bias = true;  // without it norms are RMSNorm
    bool has_qkv_bias = true;
    bool has_layer_scale = false;  // factors of what a block adds
    QkNorm qk_norm = QkNorm::None;
    bool may_swap_ffn = false;  // fc1 and fc2 may have each other's names
    // Of a second tower of a file: how its tensors' names begin. Those that are missing are the first
    // tower's.
    std::string prefix = "v.";
    bool falls_back = false;
    // Blocks begin with attention over so many frames, each row among those of its own place; 0: they do not.
    std::size_t n_frames = 0;
    bool is_in_llama_cpp = true;  // false: there are no numbers of llama.cpp's
    // With llama.cpp's numbers, where the class token stands behind the patches: all norms are RMSNorm or
    // none is, whatever the file has; and the row that is not projected is the class token's or the first.
    bool llama_cpp_has_rms_norm = false;
    bool llama_cpp_projects_class = false;
};

class Vit {
   public:
    Vit() = default;
    // The shape is the file's; adds the tensors that are needed.
    Vit(const GgufReader& reader, const VisionInfo& info, const VitTraits& traits,
        std::vector<WeightSpec>& specs);

    // Patches and positions of a piece.
    [[nodiscard]] Grid patches() const { return patches_; }
    void bind(const WeightStore& store);
    // As those of VisionTower. Graphs use this object.
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const {
        return build_encoder(context, graph, std::span(&piece, 1), request);
    }
    // Pieces that are frames of a clip, each of which sees itself, and at its own places the others where
    // there is a part for that: then they are as many as its frames.
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, std::span<const PiecePixels> pieces,
                               const EncodeRequest& request) const;
    StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                               const EncoderStretch& stretch) const;
    [[nodiscard]] std::size_t max_nodes() const { return 128 + 128 * n_blocks_; }

   private:
    // What a block does over time, before anything else.
    struct TimePart {
        ggml_tensor* embedding = nullptr;  // [width, frames]: added to all rows of a frame
        ggml_tensor* norm = nullptr;
        ggml_tensor* norm_bias = nullptr;
        Linear qkv;
        Linear out;
    };

    struct Block {
        ggml_tensor* norm1 = nullptr;
        ggml_tensor* norm1_bias = nullptr;
        Linear qkv;  // query, key and value stacked: width -> 3 * width
        ggml_tensor* query_norm = nullptr;
        ggml_tensor* key_norm = nullptr;
        Linear out;
        ggml_tensor* scale1 = nullptr;
        ggml_tensor* norm2 = nullptr;
        ggml_tensor* norm2_bias = nullptr;
        Linear first;
        Linear second;
        ggml_tensor* scale2 = nullptr;
        TimePart time = {};  // of a tower that has it
    };

    // Query, key and value of all rows, as [head width, rows of a frame, heads, frames] views of one product.
    struct Attention {
        ggml_tensor* query = nullptr;
        ggml_tensor* key = nullptr;
        ggml_tensor* value = nullptr;
        ggml_tensor* key_rows = nullptr;  // [width, rows]
        ggml_tensor* all = nullptr;       // [3 * width, rows]
    };

    // What all blocks of a graph share.
    struct Run {
        Compat compat = Compat::Original;
        std::size_t n_frames = 1;
        ggml_tensor* bias = nullptr;  // as StretchGraph, or null
        // First rows of the frames, then their number; and of the places when rows are ordered by place.
        // Unset for a single frame.
        std::vector<std::int32_t> frame_bounds = {};
        ggml_tensor* held_frame_bounds = nullptr;
        std::vector<std::int32_t> place_bounds = {};
        ggml_tensor* held_place_bounds = nullptr;
    };

    [[nodiscard]] std::int64_t row_values(Compat compat) const {
        return compat == Compat::Original ? padded_patch_values_ : patch_values_;
    }
    [[nodiscard]] bool has_rms_norm(Compat compat) const {
        return compat == Compat::Original ? !traits_.has_norm_bias : traits_.llama_cpp_has_rms_norm;
    }
    [[nodiscard]] std::vector<float> patch_rows(const PiecePixels& piece, Compat compat) const;
    ggml_tensor* norm(ggml_context* context, ggml_tensor* x, ggml_tensor* scale, ggml_tensor* shift,
                      bool is_rms) const;
    // The rows that enter the first block; adds what has to be filled to the inputs.
    ggml_tensor* embed(ggml_context* context, std::span<const PiecePixels> pieces, Compat compat,
                       std::vector<GraphInput>& inputs) const;
    [[nodiscard]] Run run_of(ggml_context* context, std::size_t n_frames, std::size_t n_rows, Compat compat,
                             std::vector<GraphInput>& inputs) const;
    // x after attention over time: rows of the frames, one frame after the other.
    ggml_tensor* attend_over_time(ggml_context* context, const TimePart& part, ggml_tensor* x,
                                  const Run& run) const;
    [[nodiscard]] LinearActivation activation(Compat compat) const;
    [[nodiscard]] Attention attention(ggml_context* context, const Block& block, ggml_tensor* x,
                                      const Run& run) const;
    // qkv with its queries and keys normed.
    ggml_tensor* norm_queries_and_keys(ggml_context* context, const Block& block, ggml_tensor* qkv,
                                       Compat compat) const;
    // x after the attention part, then after the feed-forward part.
    ggml_tensor* attend(ggml_context* context, const Block& block, const Attention& parts, ggml_tensor* x,
                        const Run& run) const;
    ggml_tensor* flash_attention(ggml_context* context, const Attention& parts, const Run& run) const;
    ggml_tensor* feed_forward(ggml_context* context, const Block& block, ggml_tensor* x, Compat compat) const;
    // Blocks first ... n_begun - 1, of which those from n_whole on stop at what the request reads.
    ggml_tensor* run_blocks(ggml_context* context, ggml_cgraph* graph, ggml_tensor* x, std::size_t first,
                            std::size_t n_whole, std::size_t n_begun, const Run& run,
                            const EncodeRequest& request, EncoderGraph& result) const;
    ggml_tensor* class_attention(ggml_context* context, const Attention& parts, Compat compat) const;
    // What has a place per row along `axis`, with the row that is not projected first.
    ggml_tensor* prefix_first(ggml_context* context, ggml_tensor* x, int axis, Compat compat) const;

    VitTraits traits_;
    Grid patches_;
    std::size_t patch_size_ = 0;
    std::int64_t patch_values_ = 0;
    std::int64_t padded_patch_values_ = 0;
    std::size_t width_ = 0;
    std::size_t n_blocks_ = 0;
    float norm_epsilon_ = 0.0F;
    Activation activation_ = Activation::QuickGelu;
    FullAttention attention_;
    bool llama_cpp_patches_are_half_ = true;

    Linear patch_kernel_;  // rows padded with zeros
    Linear llama_cpp_patch_kernel_;
    ggml_tensor* class_token_ = nullptr;
    ggml_tensor* positions_ = nullptr;
    ggml_tensor* pre_norm_ = nullptr;
    ggml_tensor* pre_norm_bias_ = nullptr;
    std::vector<Block> blocks_;
};

}  // namespace clasp::model
