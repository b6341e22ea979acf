// What a vision tower is, what can be asked of it and what it answers. Plain data, no ggml.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/fuse.h"
#include "model/tile_rule.h"
#include "model/vision_plan.h"
#include "video/sampling.h"

namespace clasp::model {

enum class Activation : std::uint8_t { QuickGelu, Gelu, Silu };

// What a tower gives beside the tokens; what it lacks makes some methods impossible.
struct VisionCapabilities {
    bool has_class_token = false;  // class attention, its queries, keys beside it
    std::size_t merge = 1;         // merge x merge encoder rows become one token
    bool merges_inside = false;    // methods may merge rows between its blocks
};

// Visual tokens of a picture, at least and at most.
struct TokenRange {
    std::size_t min = 0;
    std::size_t max = 0;
};

// Frames as a tower that is made for clips takes them.
struct ClipInput {
    std::size_t n_frames = 0;
    std::size_t n_tokens = 0;        // of all frames together
    bool has_class_rows = false;     // one of each frame's tokens is its class row
    bool has_temporal_part = false;  // frames see each other
    std::string source = {};         // whose model it is: "authors", "hf"
    std::string preprocess = {};     // how frames are resampled: "languagebind", "clip"
};

// How pictures and conversations about them are written.
struct PictureWords {
    std::string after = "\n";  // what the template says behind a picture; plans bring marks of their own
    // What it says before a picture and, after that, behind it; not with llama.cpp's numbers. It is one text
    // with the words around it, which a plan's marks are not.
    std::string gap = {};
    std::string system = {};  // the usual system text, where nobody gives one; empty: none, or the template's
    std::string chat_template =
        {};  // as PromptOptions has it, for files that bring none; empty: the decoder's
    // The same for files whose text model is Mistral 7B, or Yi 34B, as their name or their shape tells.
    std::string mistral_template = {};
    std::string yi_template = {};
    // Where the usual templates differ from how the model was trained; turns_of: only with decoders of this
    // architecture, empty: with all.
    std::string chatml_system = {};  // the usual system text of conversations in ChatML alone
    bool joins_turns = false;        // no line break behind the token that ends a turn
    std::string turns_of = {};
    // False: a conversation of LLaVA-1.5's form begins with the user's turn where the file brings no
    // template.
    bool has_vicuna_system = true;
};

// VisionInfo::exactness where tests find the same bits.
inline constexpr std::string_view kExactAsLlamaCpp =
    "with --compat llama.cpp every layer and token is llama.cpp's, bit for bit";

struct VisionInfo {
    std::string family;          // "clip-vit"
    std::string projector_type;  // as in the file: "mlp"
    std::string weight_type;     // most common type of the file's matrices: "F16"
    std::size_t image_size = 0;  // pixels per side of the pictures that the file was made for
    std::size_t patch_size = 0;
    // Tokens of such a picture, as one piece. What a picture of another size becomes, only a plan says.
    Grid grid;
    std::optional<TileRule> tiles;                // how pictures are cut; none: they stay whole
    std::optional<TokenRange> token_range;        // of towers that take any size: the authors' limits
    std::optional<TokenRange> paper_token_range;  // those behind the paper's figures, if others
    std::size_t min_tiles = 0;
    std::size_t max_tiles = 0;    // of towers that cut pictures into as many tiles as fit; 0: no such choice
    std::string tile_words = {};  // what else they show and how they choose, for people
    PictureWords words;
    // The original lays pictures with transparency on white; others take colours as stored.
    bool lays_on_white = false;
    video::SampleRule sampling;  // which frames of a clip are seen
    // What becomes of a clip, where that is the same whatever it shows, for people: towers of their own.
    std::optional<ClipInput> clip = {};
    bool is_in_llama_cpp = true;  // false: there are no numbers of llama.cpp's
    // For people: what a user of llama.cpp would find otherwise here, each in a few words, and how near
    // its numbers are where it is followed.
    std::vector<std::string> differences = {};
    std::string exactness = {};
    // A sentence about what the file lacks, or how pictures are encoded instead; else empty.
    std::string note = {};
    // The profile with the paper's mixes for this tower; empty: those of LLaVA, mapped by depth.
    std::string profile = {};
    VisionCapabilities capabilities;
    std::size_t width = 0;  // of the tower
    std::size_t n_heads = 0;
    std::size_t ffn_width = 0;
    std::size_t n_blocks = 0;         // stored in the file: a mix may name 0 .. n_blocks - 1
    std::size_t projector_width = 0;  // between the two matrices of the projector
    std::size_t output_width = 0;     // of a projected token; must be the text model's width
    std::size_t feature_layer = 0;    // block whose output the original model projects
    std::size_t llama_cpp_feature_layer = 0;
    // Blocks whose outputs reach the decoder on their own way, beside the tokens: the k-th, projected, is
    // added to the output of the decoder's block k. Empty in most models.
    std::vector<std::size_t> branch_layers = {};
    // The file has a norm after the last block. The original LLaVA takes its features before it.
    bool has_post_norm = false;
    float norm_epsilon = 0.0F;
    Activation activation = Activation::QuickGelu;
    std::array<float, 3> mean = {};
    std::array<float, 3> std = {};
    std::size_t n_parameters = 0;

    [[nodiscard]] std::size_t n_tokens() const { return grid.height * grid.width; }
    [[nodiscard]] std::size_t default_layer(Compat compat) const {
        return compat == Compat::Original ? feature_layer : llama_cpp_feature_layer;
    }
};

// How matrices are kept in memory. Norms, biases and tables are always float32.
enum class VisionWeights : std::uint8_t {
    Auto,  // I16 where it is fast, else File
    File,  // as stored; what Compat::LlamaCpp needs to give llama.cpp's bits
    I16,   // 16-bit integers (packed_matrix.h): about the accuracy of F16, faster; CPU only
    F32,
    F16,
    BF16,
    Q8,    // 8-bit integers (quant_matrix.h, Q8_0), activations too; on a GPU ggml's product of the same
           // weights
    Q4_0,  // repacked where the processor has kernels for it
};

inline constexpr std::array kAllVisionWeights = {
    VisionWeights::Auto, VisionWeights::File, VisionWeights::I16, VisionWeights::F32,
    VisionWeights::F16,  VisionWeights::BF16, VisionWeights::Q8,  VisionWeights::Q4_0};

std::string_view vision_weights_name(VisionWeights weights);  // "auto", "file", "i16", ...

struct EncodeRequest {
    Compat compat = Compat::Original;
    // Blocks whose outputs are wanted, rising. The tower stops after the highest block that anything
    // in this request needs.
    std::vector<std::size_t> layers = {};
    // Blocks for which the class token's attention is wanted.
    std::vector<std::size_t> class_attention = {};
    // Blocks whose attention keys are wanted.
    std::vector<std::size_t> keys = {};
    // Blocks for which the class token's query vector is wanted.
    std::vector<std::size_t> class_query = {};
};

// Output of one block: a row of `width` for each of PieceShape::n_projected(). Without merging they stand in
// the order of the tokens; with merging the order is the tower's own, and only its projector knows it.
struct LayerOutput {
    std::size_t layer = 0;
    std::vector<float> values;
    // The prefix row that is not projected; empty when there is none or the layer came from a file.
    std::vector<float> class_row = {};
};

// Attention of the class token in one block: n_heads rows of n_patches + 1 probabilities. Column 0 is the
// encoder row that is not projected (the class token itself, in the original model), column t + 1 is
// patch t. Only towers with a class token have it.
struct ClassAttention {
    std::size_t layer = 0;
    std::size_t n_heads = 0;
    std::vector<float> per_head;
    std::vector<float> mean;  // over heads; n_patches + 1
};

// Attention keys of one block: a row of `width` (heads one after the other) for the prefix, if there is one,
// and for every patch.
struct LayerKeys {
    std::size_t layer = 0;
    std::vector<float> values;
};

// Query vector of the class token in one block, all heads one after the other.
struct ClassQuery {
    std::size_t layer = 0;
    std::vector<float> values;
};

// What the encoder gives for one piece of a picture, in host memory: enough to fuse and project again for
// another mix without running the tower.
struct VisionLayers {
    PieceShape shape;
    std::size_t width = 0;
    Compat compat = Compat::Original;
    std::vector<LayerOutput> layers;
    std::vector<ClassAttention> class_attention;
    std::vector<LayerKeys> keys;
    std::vector<ClassQuery> class_query;
    double encode_ms = 0.0;

    [[nodiscard]] const LayerOutput* find(std::size_t layer) const {
        for (const LayerOutput& output : layers) {
            if (output.layer == layer) return &output;
        }
        return nullptr;
    }
};

// The visual tokens of one piece, row by row.
struct VisionTokens {
    Grid grid;  // of those that are patches
    std::size_t width = 0;
    std::vector<float> values;  // n_tokens rows of `width`
    std::vector<float> gram;    // n_tokens x n_tokens cosines; empty unless asked for
    double fuse_ms = 0.0;
    double project_ms = 0.0;
    double gram_ms = 0.0;

    [[nodiscard]] std::size_t n_tokens() const { return width == 0 ? 0 : values.size() / width; }
};

}  // namespace clasp::model
