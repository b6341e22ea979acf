// What is in a GGUF file, and whether the engine can run it, without loading weights.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "clasp/fuse.h"
#include "clasp/image.h"
#include "clasp/image_layout.h"
#include "clasp/policy.h"
#include "clasp/status.h"

namespace clasp {

struct TextFileInfo {
    std::size_t n_layers = 0;
    std::size_t width = 0;
    std::size_t ffn_width = 0;
    std::size_t n_heads = 0;
    std::size_t n_kv_heads = 0;
    std::size_t head_width = 0;
    std::size_t vocabulary = 0;
    std::size_t context_length = 0;
    std::size_t n_deepstack = 0;  // first blocks whose outputs get more of a picture
};

// Frames as a tower that is made for clips takes them.
struct ClipTowerInfo {
    std::size_t n_frames = 0;
    std::size_t n_tokens = 0;        // of all frames together
    bool has_class_rows = false;     // one of each frame's tokens is its class row
    bool has_temporal_part = false;  // frames see each other
    std::string source;              // whose model it is: "authors", "hf"
    std::string preprocess;          // how frames are resampled: "languagebind", "clip"
};

struct VisionFileInfo {
    std::string family;
    std::string projector;
    std::size_t image_size = 0;
    std::size_t patch_size = 0;
    std::size_t merge = 1;  // merge x merge patches become a token
    Grid grid;              // of tokens
    std::size_t n_blocks = 0;
    std::size_t width = 0;
    std::size_t n_heads = 0;
    std::size_t ffn_width = 0;
    std::size_t output_width = 0;
    std::size_t n_branches = 0;               // rows per token that it gives for those
    std::size_t feature_layer = 0;            // block that the original model projects
    std::size_t llama_cpp_feature_layer = 0;  // block that llama.cpp projects
    bool is_in_llama_cpp = true;              // false: it does not know this tower
    // What is computed otherwise than by llama.cpp, unless Compat::LlamaCpp is asked for, each in a few
    // words; and how near to its numbers those are then.
    std::vector<std::string> differences;
    std::string exactness;
    std::optional<ClipTowerInfo> clip;  // of towers that are made for clips
    // Of towers that cut pictures into tiles: the sizes to choose from, and the order of the tokens ("flat",
    // "spatial", "spatial_unpad"). Empty: pictures stay whole.
    std::vector<PixelSize> resolutions;
    std::string tile_merge;
    // Of towers that take pictures of any size: what a picture has at least and at most; 0: no such choice.
    std::size_t min_tokens = 0;
    std::size_t max_tokens = 0;
    // Of towers that cut pictures into as many tiles as fit; 0: no such choice.
    std::size_t min_tiles = 0;
    std::size_t max_tiles = 0;
    std::string tile_words;  // what else is shown beside the tiles, and how their number is chosen
    std::string
        note;  // a sentence about what the file lacks, or how pictures are encoded instead; else empty
};

struct GgufFileInfo {
    std::string path;
    std::string architecture;
    std::string name;
    std::size_t n_bytes = 0;
    std::size_t n_tensors = 0;
    std::size_t n_parameters = 0;
    std::vector<std::pair<std::string, std::size_t>> types;  // parameters per type, most first
    std::optional<TextFileInfo> text;
    std::optional<VisionFileInfo> vision;
    bool is_supported = false;  // Engine::load() takes it; only memory can stand in the way
    std::string reason;         // why not, when it is not
    std::string needs;          // what it needs beside it, and for what, when it is
};

// The verdict comes from the checks by which the engine loads files. Error: the file cannot be read or is not
// a sound GGUF container. A sound file that the engine cannot run is a result with a reason.
Result<GgufFileInfo> inspect_gguf(const std::string& path);

// What a picture of that size becomes, by a vision file that can be run. Errors: those of inspect_gguf();
// unsupported (the file cannot be run); a picture that the model does not take.
Result<ImageLayout> inspect_picture(const std::string& path, PixelSize picture,
                                    Compat compat = Compat::Original, const PictureDetail& detail = {});

// What Engine::policy() will be; mmproj may be empty. What is wrong with a vision file is for loading to say;
// errors are those of the model's own policy.
Result<Policy> inspect_policy(const std::string& model, const std::string& mmproj);

// Whether Engine::load() takes the two together. Errors: unsupported (one of them cannot be run),
// invalid_argument (they do not belong together).
Status check_pair(const GgufFileInfo& text, const GgufFileInfo& vision);

}  // namespace clasp
