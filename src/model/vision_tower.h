// The seam between families of vision towers and the code that runs them. A family reads its file's keys,
// says what becomes of a picture, which tensors it needs, and builds graphs; loading, fusing, scheduling,
// caching and reading results are common. Adding a family is adding a file and a line in
// vision_families.cpp; docs/design/geometry.md tells how.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"
#include "ggml.h"
#include "llama.h"
#include "model/clip_plan.h"
#include "model/gguf_reader.h"
#include "model/vision_plan.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

// A tensor that is filled once the graph is placed: patches, positions, windows, masks. One that the graph
// turns out not to need is left alone.
struct GraphInput {
    ggml_tensor* tensor = nullptr;
    std::vector<std::byte> bytes;  // its whole content
};

template <typename T>
GraphInput graph_input(ggml_tensor* tensor, const std::vector<T>& values) {
    ggml_set_input(tensor);
    GraphInput input = {tensor, std::vector<std::byte>(values.size() * sizeof(T))};
    std::memcpy(input.bytes.data(), values.data(), input.bytes.size());
    return input;
}

// Of a graph that is placed.
void fill_inputs(const std::vector<GraphInput>& inputs);

// The nodes of an encoder graph for one piece. Rows are encoder positions: the prefix, then the patches.
struct EncoderGraph {
    std::vector<GraphInput> inputs;
    std::vector<ggml_tensor*> layers;           // per requested layer: [width, n_rows]
    std::vector<ggml_tensor*> class_attention;  // per requested block: [n_rows, 1, heads]
    std::vector<ggml_tensor*> keys;             // per requested block: [width, n_rows]
    std::vector<ggml_tensor*> class_query;      // per requested block: [width, 1]
};

// From patches to tokens.
struct ProjectorGraph {
    std::vector<GraphInput> inputs;  // beside the rows that it was given
    ggml_tensor* tokens = nullptr;   // [output_width, n_tokens], row by row of the token grid
};

inline constexpr std::size_t kNoBlock = static_cast<std::size_t>(-1);

// A stretch of the encoder between two places where rows are merged: the feed-forward part of one block,
// then whole blocks, then the attention part of another. What the request asks of the whole blocks comes
// out as in an encoder graph.
struct EncoderStretch {
    EncodeRequest request;
    const PiecePixels* piece = nullptr;  // begins with the piece; null: with rows
    std::size_t tower = 0;               // of the piece's shape
    bool is_last = false;                // runs as far as the request needs, whatever `last` says
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
    EncoderGraph parts;
    ggml_tensor* entering = nullptr;  // [width, n_rows]: rows from the stretch before; null with a piece
    ggml_tensor* bias = nullptr;      // F16 [n_rows, n_rows]: row q holds the biases of all keys
    ggml_tensor* rows = nullptr;      // [width, n_rows]
    ggml_tensor* keys = nullptr;      // [width, n_rows]
    ggml_tensor* logits = nullptr;    // [n_rows, n_rows]: key by query, scaled, mean over heads
};

// What a tower that another library runs needs to be opened. All must outlive it.
struct OutsideModel {
    std::string path;  // of the vision file
    const llama_model* text = nullptr;
    std::size_t n_threads = 1;
};

// Stateless after loading, so one object serves all sessions.
class VisionTower {
   public:
    virtual ~VisionTower() = default;

    [[nodiscard]] virtual const VisionInfo& info() const = 0;
    [[nodiscard]] virtual const std::vector<WeightSpec>& specs() const = 0;
    // Looks the loaded tensors up; the store must outlive the tower.
    virtual void bind(const WeightStore& store) = 0;

    // What becomes of a picture of this size, which has passed the limits of the image front end. Needs no
    // weights. Of the options' detail only what info() says can be chosen is set. Errors: a picture that the
    // model does not take, with the reason.
    [[nodiscard]] virtual Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const = 0;
    // What becomes of a clip of which these frames were sampled, by info().sampling or by request. Here:
    // frames as so many pictures, one after the other (clip_plan.h).
    [[nodiscard]] virtual Result<VisionPlan> plan_clip(const ClipFrames& clip,
                                                       const PlanOptions& options) const;
    // The pixels of a planned picture's pieces: render_pieces() with the file's mean and deviation, for all
    // families that do nothing else.
    [[nodiscard]] virtual Result<std::vector<PiecePixels>> preprocess(const Image& picture,
                                                                      const VisionPlan& plan,
                                                                      Compat compat) const;
    // The same for a part of a clip's frame that was resampled as the plan says.
    [[nodiscard]] virtual Result<std::vector<float>> pixel_values(const Image& part, Compat compat) const;
    // The same of one that was resampled in floating point.
    [[nodiscard]] Result<std::vector<float>> plane_values(const image::PixelPlanes& part) const;

    // The piece is one of a plan, with as many pixels as it says, and the request's blocks are known to
    // exist. Outputs are marked and expanded into the graph.
    virtual EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                                       const EncodeRequest& request) const = 0;
    // Of pieces that see each other (VisionPlan::pieces_at_once), whose rows follow each other in every
    // output; class_attention is [n_rows, 1, heads, pieces], class_query [width, pieces]. Here: of one piece
    // alone.
    virtual EncoderGraph build_group_encoder(ggml_context* context, ggml_cgraph* graph,
                                             std::span<const PiecePixels> pieces,
                                             const EncodeRequest& request) const;
    // Only called if info().capabilities.merges_inside.
    virtual StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                                       const EncoderStretch& stretch) const;
    // fused: [width, n]. With merging it holds all patches of a piece of this shape. Without, a projector
    // works row by row, and n may be any number.
    virtual ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& shape,
                                           Compat compat) const = 0;
    // As build_projector(), from the output of block info().branch_layers[branch]. Only called for those.
    virtual ProjectorGraph build_branch(ggml_context* context, ggml_tensor* rows, std::size_t branch,
                                        const PieceShape& shape, Compat compat) const;
    // Of a tower that another library runs instead of graphs: it is attached once after opening, and encodes
    // a piece to a row per patch, the output of its only block.
    [[nodiscard]] virtual bool is_outside() const { return false; }
    virtual Status attach(const OutsideModel& model);
    [[nodiscard]] virtual Result<std::vector<float>> encode_outside(const PiecePixels& piece) const;
    // A row of output_width that arrangements put between tokens. Only called for numbers in its own plans.
    [[nodiscard]] virtual std::vector<float> fixed_row(std::size_t number) const;
    // Upper bound of graph nodes.
    [[nodiscard]] virtual std::size_t max_nodes() const = 0;
};

// Reads the keys of a file and checks every tensor that the family needs; loads nothing.
// Errors: unsupported (another projector type; the message lists those that work), corrupt.
Result<std::unique_ptr<VisionTower>> open_vision_tower(const GgufReader& reader);

// The projector types that open_vision_tower() knows.
std::vector<std::string_view> supported_projector_types();

// A family that does not come with the library, for the rest of the process. Thread safe. The type must
// outlive the process; a type that is known already is a bug.
using OpenTower = Result<std::unique_ptr<VisionTower>> (*)(const GgufReader&);
void register_vision_family(std::string_view projector_type, OpenTower open);

}  // namespace clasp::model
