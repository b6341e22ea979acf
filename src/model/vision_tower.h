// The seam between families of vision towers and the code that runs them. A family reads its file's keys,
// says which tensors it needs and builds graphs; loading, fusing, scheduling and reading results are
// common. Adding a family is adding a file and a line in vision_families.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "ggml.h"
#include "model/gguf_reader.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

// The nodes of an encoder graph. Rows are encoder positions: row 0 is never projected, row t + 1 is token t.
struct EncoderGraph {
    ggml_tensor* input = nullptr;               // to be filled with patch_rows()
    std::vector<ggml_tensor*> layers;           // per requested layer: [width, n_tokens + 1]
    std::vector<ggml_tensor*> class_attention;  // per requested block: [n_tokens + 1, 1, heads]
    std::vector<ggml_tensor*> keys;             // per requested block: [width, n_tokens + 1]
    std::vector<ggml_tensor*> class_query;      // per requested block: [width, 1]
};

inline constexpr std::size_t kNoBlock = static_cast<std::size_t>(-1);

// A stretch of the encoder between two places where rows are merged: the feed-forward part of one block,
// then whole blocks, then the attention part of another. What the request asks of the whole blocks comes
// out as in an encoder graph.
struct EncoderStretch {
    EncodeRequest request;
    bool is_first = false;  // begins with the patches instead of rows
    bool is_last = false;   // runs as far as the request needs, whatever `last` says
    std::size_t n_rows = 0;
    std::size_t finish = kNoBlock;  // block whose feed-forward part comes first
    std::size_t first = 0;          // whole blocks first ... last - 1
    std::size_t last = 0;
    std::size_t attend = kNoBlock;  // block whose attention part comes last
    bool has_bias = false;          // a number per row is added to the logits of its key
    bool wants_keys = false;        // of block `attend`
    bool wants_logits = false;      // of block `attend`
};

struct StretchGraph {
    EncoderGraph parts;             // parts.input takes patch_rows(), or rows [width, n_rows]
    ggml_tensor* bias = nullptr;    // F16 [n_rows, n_rows]: row q holds the biases of all keys
    ggml_tensor* rows = nullptr;    // [width, n_rows]
    ggml_tensor* keys = nullptr;    // [width, n_rows]
    ggml_tensor* logits = nullptr;  // [n_rows, n_rows]: key by query, scaled, mean over heads
};

// Stateless after loading, so one object serves all sessions.
class VisionTower {
   public:
    virtual ~VisionTower() = default;

    [[nodiscard]] virtual const VisionInfo& info() const = 0;
    [[nodiscard]] virtual const std::vector<WeightSpec>& specs() const = 0;
    // Looks the loaded tensors up; the store must outlive the tower.
    virtual void bind(const WeightStore& store) = 0;

    // Normalised pixels (3 planes of image_size x image_size) as the rows that the encoder graph takes.
    [[nodiscard]] virtual std::vector<float> patch_rows(std::span<const float> pixels,
                                                        Compat compat) const = 0;
    // The request's blocks are known to exist. Outputs are marked and expanded into the graph.
    virtual EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph,
                                       const EncodeRequest& request) const = 0;
    virtual StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                                       const EncoderStretch& stretch) const = 0;
    // fused: [width, n_tokens]; returns [output_width, n_tokens].
    virtual ggml_tensor* build_projector(ggml_context* context, ggml_tensor* fused, Compat compat) const = 0;
    // Upper bound of graph nodes.
    [[nodiscard]] virtual std::size_t max_nodes() const = 0;
};

// Reads the keys of a file and checks every tensor that the family needs; loads nothing.
// Errors: unsupported (another projector type; the message lists those that work), corrupt.
Result<std::unique_ptr<VisionTower>> open_vision_tower(const GgufReader& reader);

// The projector types that open_vision_tower() knows.
std::vector<std::string_view> supported_projector_types();

}  // namespace clasp::model
