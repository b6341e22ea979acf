// A loaded vision tower with its projector, and sessions that run images through it.
//
//     auto model = VisionModel::load("mmproj.gguf", {}, compute);
//     auto plan = (*model)->plan({640, 480}, {});
//     auto pieces = (*model)->preprocess(picture, *plan, Compat::Original);
//     auto session = VisionSession::create(*model);
//     auto layers = (*session)->encode(pieces->front(), {.layers = layers_of(mix)});
//     auto tokens = (*session)->project(*layers, mix, {.gram = true});
//
// project() reads the layers from host memory, so a cached VisionLayers gives the same bits as a fresh one.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "clasp/fuse.h"
#include "clasp/log.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "methods/method.h"
#include "model/backend.h"
#include "model/load_watch.h"
#include "model/vision_tower.h"
#include "model/vision_types.h"

namespace clasp::model {

// Reads and checks a file without loading weights. The error of an unusable file says why it is.
Result<VisionInfo> inspect_vision(std::span<const std::byte> bytes);
// What a picture of that size would become.
Result<ImageLayout> plan_vision(std::span<const std::byte> bytes, PixelSize picture,
                                const PlanOptions& options);

struct VisionOptions {
    VisionWeights weights = VisionWeights::Auto;
    const LoadWatch* watch = nullptr;  // during the call
    OutsideModel outside = {};         // for files that another library reads
};

// Immutable once loaded; any number of sessions may use it from any thread.
class VisionModel {
   public:
    // pool may be null; it is used during the call only.
    static Result<std::shared_ptr<const VisionModel>> load(const std::string& path,
                                                           const VisionOptions& options,
                                                           std::shared_ptr<Compute> compute,
                                                           ThreadPool* pool = nullptr,
                                                           const LogSink& log = {});
    // The same from bytes in memory, which are not needed after the call.
    static Result<std::shared_ptr<const VisionModel>> load_bytes(std::span<const std::byte> bytes,
                                                                 const VisionOptions& options,
                                                                 std::shared_ptr<Compute> compute,
                                                                 ThreadPool* pool = nullptr,
                                                                 const LogSink& log = {});

    [[nodiscard]] const VisionInfo& info() const { return tower_->info(); }
    // What becomes of a picture of this size. Error: the model does not take such pictures.
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const;
    // The pieces of a picture that was planned.
    [[nodiscard]] Result<std::vector<PiecePixels>> preprocess(const Image& picture, const VisionPlan& plan,
                                                              Compat compat) const;
    // What becomes of a clip of which these frames were sampled.
    [[nodiscard]] Result<VisionPlan> plan_clip(const ClipFrames& clip, const PlanOptions& options) const;
    // The pieces of a clip that was planned, once the renderer has its frames.
    [[nodiscard]] Result<std::vector<PiecePixels>> pieces_of(const PieceRenderer& renderer,
                                                             Compat compat) const;
    // A row of output_width that the arrangement of a plan names.
    [[nodiscard]] Result<std::vector<float>> fixed_row(std::size_t number) const;
    // How matrices are kept; never Auto.
    [[nodiscard]] VisionWeights weights() const { return weights_->format(); }
    [[nodiscard]] const std::shared_ptr<Compute>& compute() const { return compute_; }

   private:
    friend class VisionSession;
    VisionModel() = default;

    std::shared_ptr<Compute> compute_;
    std::unique_ptr<WeightStore> weights_;
    std::unique_ptr<VisionTower> tower_;
};

// Where an image stands in a request whose method merges inside the encoder.
struct MergePlace {
    std::size_t image = 0;
    std::size_t keep = 0;
    ThreadPool* pool = nullptr;
};

// Layers of fewer rows than the piece has patches.
struct MergedLayers {
    VisionLayers layers;
    std::vector<std::vector<TokenIndex>> members;  // per row: the patches it stands for, rising
    double merge_ms = 0.0;                         // of encode_ms: inside the method
};

struct ProjectOptions {
    bool gram = true;
};

// Scheduler and workspace of one user of a model. One call at a time.
class VisionSession {
   public:
    static Result<std::unique_ptr<VisionSession>> create(std::shared_ptr<const VisionModel> model);

    // A piece of a plan of this model. Errors (invalid_argument): the wrong number of pixels, a block that
    // the file does not have (the message says how many it has), blocks not rising; unsupported (a class
    // token that the tower does not have); cancelled.
    Result<VisionLayers> encode(const PiecePixels& piece, const EncodeRequest& request,
                                const std::atomic<bool>* cancel = nullptr,
                                const GraphProgress& progress = {});

    // The same of pieces that see each other, VisionPlan::pieces_at_once of one plan: the layers of each.
    Result<std::vector<VisionLayers>> encode_group(std::span<const PiecePixels> pieces,
                                                   const EncodeRequest& request,
                                                   const std::atomic<bool>* cancel = nullptr,
                                                   const GraphProgress& progress = {});

    // Fuses the mix's layers, projects them and compares them with each other. A weight of exactly 1 is
    // not multiplied. Errors: a layer of the mix that is not among the layers given; a result that is not
    // finite (corrupt; names the first bad token); cancelled.
    Result<VisionTokens> project(const VisionLayers& layers, const Mix& mix,
                                 const ProjectOptions& options = {},
                                 const std::atomic<bool>* cancel = nullptr);

    // As encode(), with a method that merges rows at the blocks of its program. `keep` is the image's share
    // of the tokens. The layers asked for must lie behind the last of those blocks.
    Result<MergedLayers> encode_merging(const PiecePixels& piece, const EncodeRequest& request,
                                        methods::MethodRun& run, const MergePlace& place,
                                        const std::atomic<bool>* cancel = nullptr,
                                        const GraphProgress& progress = {});

    // The steps of project(), for callers who change rows in between. Features and tokens are rows of the
    // tower's and of the decoder's width. Rows of a shape that does not merge may be any number.
    Result<std::vector<float>> fuse(const VisionLayers& layers, const Mix& mix,
                                    const std::atomic<bool>* cancel = nullptr);
    Result<std::vector<float>> project_rows(std::span<const float> features, const PieceShape& shape,
                                            Compat compat, const std::atomic<bool>* cancel = nullptr);
    // What the tower's branches make of a piece: per token, one row of the decoder's width after the other.
    // Empty when it has none. Error: a block of theirs that was not encoded.
    Result<std::vector<float>> project_branches(const VisionLayers& layers,
                                                const std::atomic<bool>* cancel = nullptr);
    Result<std::vector<float>> gram(std::span<const float> tokens, const std::atomic<bool>* cancel = nullptr);

    [[nodiscard]] const VisionModel& model() const { return *model_; }

   private:
    VisionSession() = default;
    // The rows of piece `number` of those that were encoded together.
    void read_parts(const EncoderGraph& encoder, const PieceShape& shape, const EncodeRequest& request,
                    VisionLayers& result, std::size_t number = 0) const;
    [[nodiscard]] Status check(const PiecePixels& piece, const EncodeRequest& request) const;
    // Builds from rows of the tower's width and runs that.
    Result<std::vector<float>> run_projector(std::span<const float> rows, const std::atomic<bool>* cancel,
                                             const std::function<ProjectorGraph(ggml_tensor*)>& build);
    Result<std::vector<float>> run_to(ggml_tensor* output, std::span<ggml_tensor* const> inputs,
                                      std::span<const std::span<const float>> values,
                                      const std::vector<GraphInput>& more, const std::atomic<bool>* cancel);

    std::shared_ptr<const VisionModel> model_;
    std::unique_ptr<GraphRunner> runner_;
    GraphContext graph_;
};

// The layers that a mix reads, rising: what EncodeRequest::layers must hold for it. The second also has those
// that the tower's branches read.
std::vector<std::size_t> layers_of(const Mix& mix);
std::vector<std::size_t> layers_of(const Mix& mix, const VisionInfo& info);

}  // namespace clasp::model
