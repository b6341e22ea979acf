#include "model/vision_siglip.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf_metadata.h"
#include "model/smolvlm_plan.h"
#include "model/vision_clip_file.h"
#include "model/vit.h"

namespace clasp::model {

namespace {

constexpr const char* kMergeKey = "clip.vision.projector.scale_factor";
constexpr const char* kLongestSideKey = "clip.vision.preproc_image_size";
constexpr std::int64_t kMaxTextWidth = 1 << 17;
constexpr std::int64_t kMaxLongestSide = 4096;  // the authors scale anything larger down to it

// One extent of a projector's matrix, which the decoder's width is.
Result<std::size_t> read_extent(const GgufReader& reader, const char* name, std::size_t axis) {
    const GgufTensor* tensor = reader.find_tensor(name);
    if (tensor == nullptr) return Status(Code::Corrupt, "tensor " + std::string(name) + " is missing");
    if (tensor->shape[axis] > kMaxTextWidth) {
        return Status(Code::Corrupt, "tensor " + std::string(name) + " makes rows of " +
                                         std::to_string(tensor->shape[axis]) + " values; the limit is " +
                                         std::to_string(kMaxTextWidth));
    }
    return static_cast<std::size_t>(tensor->shape[axis]);
}

// Everything but plan and projector: patches, positions, blocks, and the norm behind them. The norm belongs
// to the projector here: it is applied once, to the fused rows, so that taking the last block alone is
// exactly the original model.
class SiglipTower : public VisionTower {
   public:
    [[nodiscard]] const VisionInfo& info() const override { return info_; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& store) override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override {
        return vit_.build_encoder(context, graph, piece, request);
    }
    [[nodiscard]] std::size_t max_nodes() const override { return vit_.max_nodes(); }

   protected:
    // All keys but how many patches are merged; then all tensors but the projector's.
    Status open_tower(const GgufReader& reader, const char* family, const char* projector_type);
    void set_merge(std::size_t merge);
    [[nodiscard]] PieceShape shape() const;
    ggml_tensor* post_norm(ggml_context* context, ggml_tensor* rows) const {
        ggml_tensor* normed = ggml_norm(context, rows, info_.norm_epsilon);
        return ggml_add(context, ggml_mul(context, normed, post_norm_), post_norm_bias_);
    }
    // As many values as the tower is wide.
    void add_row(const char* name);
    // A matrix of the projector as it stands in the file, whose second extent is `rows`.
    void add_projector(const char* name, std::size_t width, std::size_t rows);
    // Checks all tensors and counts them.
    Status finish(const GgufReader& reader);

    // How many patches per side become one token, if the key is there.
    Result<std::size_t> read_merge(const GgufReader& reader) const;

    VisionInfo info_;
    std::vector<WeightSpec> specs_;

   private:
    Vit vit_;
    ggml_tensor* post_norm_ = nullptr;
    ggml_tensor* post_norm_bias_ = nullptr;
};

Status SiglipTower::open_tower(const GgufReader& reader, const char* family, const char* projector_type) {
    CLASP_ASSIGN_OR_RETURN(info_, read_vit_info(reader));
    info_.family = family;
    info_.projector_type = projector_type;
    info_.exactness = kExactAsLlamaCpp;
    info_.feature_layer = info_.llama_cpp_feature_layer = info_.n_blocks - 1;
    vit_ = Vit(reader, info_,
               {.has_class_token = false,
                .has_tanh_gelu = true,
                .has_patch_bias = reader.find_tensor("v.patch_embd.bias") != nullptr,
                .may_swap_ffn = true},
               specs_);
    add_row("v.post_ln.weight");
    add_row("v.post_ln.bias");
    return ok_status();
}

void SiglipTower::add_row(const char* name) {
    const auto width = static_cast<std::int64_t>(info_.width);
    specs_.push_back({.name = name, .parts = {name}, .part_shape = {width}, .width = width});
}

void SiglipTower::add_projector(const char* name, std::size_t width, std::size_t rows) {
    const auto n = static_cast<std::int64_t>(width);
    specs_.push_back({.name = name,
                      .parts = {name},
                      .part_shape = {n, static_cast<std::int64_t>(rows)},
                      .use = WeightSpec::Use::Matrix,
                      .width = n});
}

Status SiglipTower::finish(const GgufReader& reader) {
    for (const WeightSpec& spec : specs_) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    count_weights(reader, specs_, info_);
    return ok_status();
}

Result<std::size_t> SiglipTower::read_merge(const GgufReader& reader) const {
    const auto side = static_cast<std::int64_t>(info_.image_size / info_.patch_size);
    CLASP_ASSIGN_OR_RETURN(const std::int64_t merge, read_integer(reader, kMergeKey, 1, side));
    if (side % merge != 0) {
        return Status(Code::Corrupt, std::string(kMergeKey) + " is " + std::to_string(merge) + ", but " +
                                         std::to_string(side) + " patches per side are no multiple of it");
    }
    return static_cast<std::size_t>(merge);
}

void SiglipTower::set_merge(std::size_t merge) {
    const std::size_t side = info_.image_size / info_.patch_size / merge;
    info_.grid = {.height = side, .width = side};
    info_.capabilities = {.has_class_token = false, .merge = merge, .merges_inside = false};
}

PieceShape SiglipTower::shape() const {
    const std::size_t merge = info_.capabilities.merge;
    return {.patches = {info_.grid.height * merge, info_.grid.width * merge}, .n_prefix = 0, .merge = merge};
}

void SiglipTower::bind(const WeightStore& store) {
    vit_.bind(store);
    post_norm_ = store.get("v.post_ln.weight");
    post_norm_bias_ = store.get("v.post_ln.bias");
}

// ---- SmolVLM ----

class SmolVlmTower final : public SiglipTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader);
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override {
        return smolvlm_plan(picture, rule_, shape(), options);
    }
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& piece,
                                   Compat compat) const override;

   private:
    SmolVlmRule rule_;
    Linear matrix_;
};

constexpr const char* kSmolVlmMatrix = "mm.model.fc.weight";

Result<std::unique_ptr<VisionTower>> SmolVlmTower::open(const GgufReader& reader) {
    auto tower = std::make_unique<SmolVlmTower>();
    CLASP_RETURN_IF_ERROR(tower->open_tower(reader, "siglip", "idefics3"));
    VisionInfo& info = tower->info_;
    CLASP_ASSIGN_OR_RETURN(const std::size_t merge, tower->read_merge(reader));
    tower->set_merge(merge);
    const std::size_t merged_width = info.width * merge * merge;
    CLASP_ASSIGN_OR_RETURN(info.output_width, read_extent(reader, kSmolVlmMatrix, 1));
    info.projector_width = merged_width;
    tower->add_projector(kSmolVlmMatrix, merged_width, info.output_width);
    CLASP_RETURN_IF_ERROR(tower->finish(reader));

    CLASP_ASSIGN_OR_RETURN(
        const std::int64_t longest,
        value_or(read_integer(reader, kLongestSideKey, 1, kMaxLongestSide), std::int64_t{0}));
    info.words = {.after = "", .chat_template = "smolvlm"};
    info.differences = {"a picture of one tile is its overview alone; llama.cpp shows it twice",
                        "the shorter side follows the rounded longer one; llama.cpp rounds both up",
                        "the tower's attention is in single precision"};
    tower->rule_ = {.tile_size = static_cast<int>(info.image_size),
                    .longest_side = static_cast<int>(longest)};
    info.max_tiles = smolvlm_max_tiles(tower->rule_);
    info.tile_words = "and an overview, as many as the picture scaled to its longest side fills";
    // A square is cut into most tiles.
    const auto side = static_cast<int>(info.image_size);
    const auto most = tower->plan({side, side}, {});
    if (!most.ok()) {
        return Status(Code::Corrupt, std::string(kLongestSideKey) + ": " + most.status().message());
    }
    return std::unique_ptr<VisionTower>(std::move(tower));
}

void SmolVlmTower::bind(const WeightStore& store) {
    SiglipTower::bind(store);
    matrix_ = store.linear(kSmolVlmMatrix);
}

// The patches of a token one after the other, row by row, as one row.
ProjectorGraph SmolVlmTower::build_projector(ggml_context* context, ggml_tensor* fused,
                                             const PieceShape& piece, Compat /*compat*/) const {
    const auto merge = static_cast<std::int64_t>(piece.merge);
    const auto columns = static_cast<std::int64_t>(piece.tokens().width);
    const auto rows = static_cast<std::int64_t>(piece.tokens().height);
    ggml_tensor* normed = post_norm(context, fused);
    const std::int64_t width = normed->ne[0];
    ggml_tensor* split = ggml_reshape_4d(context, normed, width * merge, columns, merge, rows);
    ggml_tensor* together = ggml_cont(context, ggml_permute(context, split, 0, 2, 1, 3));
    ggml_tensor* merged = ggml_reshape_2d(context, together, width * merge * merge, columns * rows);
    return {.inputs = {}, .tokens = build_linear(context, matrix_, merged)};
}

// ---- Gemma 3 ----

class Gemma3Tower final : public SiglipTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader);
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& piece,
                                   Compat compat) const override;

   private:
    ggml_tensor* norm_ = nullptr;    // the file holds 1 + the original weight
    ggml_tensor* matrix_ = nullptr;  // [output width, width]: inputs and outputs the other way round
};

constexpr const char* kGemma3Matrix = "mm.input_projection.weight";
constexpr std::size_t kGemma3Merge = 4;  // files of other sizes say so

Result<std::unique_ptr<VisionTower>> Gemma3Tower::open(const GgufReader& reader) {
    auto tower = std::make_unique<Gemma3Tower>();
    CLASP_RETURN_IF_ERROR(tower->open_tower(reader, "siglip", "gemma3"));
    VisionInfo& info = tower->info_;
    info.differences = {"pictures are stretched to a square; llama.cpp keeps their shape, on black",
                        "a blank line stands before and behind the picture",
                        "the tower's attention is in single precision"};
    const std::size_t side = info.image_size / info.patch_size;
    CLASP_ASSIGN_OR_RETURN(const std::size_t merge,
                           value_or(tower->read_merge(reader), std::size_t{kGemma3Merge}));
    if (side % merge != 0) {
        return Status(Code::Corrupt, "the tower has " + std::to_string(side) +
                                         " patches per side, which is no multiple of " +
                                         std::to_string(merge));
    }
    tower->set_merge(merge);
    info.words = {.after = "", .gap = "\n\n", .chat_template = "gemma"};
    CLASP_ASSIGN_OR_RETURN(info.output_width, read_extent(reader, kGemma3Matrix, 0));
    info.projector_width = info.width;
    tower->add_row("mm.soft_emb_norm.weight");
    tower->add_projector(kGemma3Matrix, info.output_width, info.width);
    CLASP_RETURN_IF_ERROR(tower->finish(reader));
    // It is turned round in the graph, which only plain types can be.
    const bool is_single = reader.find_tensor(kGemma3Matrix)->type == GGML_TYPE_F32;
    tower->specs_.back().type = is_single ? GGML_TYPE_F32 : GGML_TYPE_F16;
    return std::unique_ptr<VisionTower>(std::move(tower));
}

void Gemma3Tower::bind(const WeightStore& store) {
    SiglipTower::bind(store);
    norm_ = store.get("mm.soft_emb_norm.weight");
    matrix_ = store.get(kGemma3Matrix);
}

// Stretched to a square; llama.cpp keeps the shape, on black.
Result<VisionPlan> Gemma3Tower::plan(PixelSize picture, const PlanOptions& options) const {
    const auto side = static_cast<int>(info_.image_size);
    const image::Fit fit =
        options.compat == Compat::Original
            ? image::stretch_fit({side, side}, image::Filter::Bilinear)
            : image::padded_fit(picture, {side, side}, {0, 0, 0}, image::Filter::Bilinear, options.compat);
    VisionPlan plan = single_piece_plan(picture, fit, shape());
    plan.arrangement.insert(plan.arrangement.begin(),
                            {.kind = ArrangedRun::Kind::Text, .text = "<start_of_image>"});
    plan.arrangement.push_back({.kind = ArrangedRun::Kind::Text, .text = "<end_of_image>"});
    return plan;
}

// The mean of each square of patches, an RMS norm, a matrix.
ProjectorGraph Gemma3Tower::build_projector(ggml_context* context, ggml_tensor* fused,
                                            const PieceShape& piece, Compat /*compat*/) const {
    const auto merge = static_cast<int>(piece.merge);
    const auto n_tokens = static_cast<std::int64_t>(piece.n_tokens());
    ggml_tensor* normed = post_norm(context, fused);
    const std::int64_t width = normed->ne[0];
    ggml_tensor* planes =
        ggml_cont_4d(context, ggml_transpose(context, normed), static_cast<std::int64_t>(piece.patches.width),
                     static_cast<std::int64_t>(piece.patches.height), width, 1);
    ggml_tensor* means =
        ggml_pool_2d(context, planes, GGML_OP_POOL_AVG, merge, merge, merge, merge, 0.0F, 0.0F);
    ggml_tensor* rows =
        ggml_cont(context, ggml_transpose(context, ggml_reshape_2d(context, means, n_tokens, width)));
    rows = ggml_mul(context, ggml_rms_norm(context, rows, info_.norm_epsilon), norm_);
    ggml_tensor* turned = ggml_cont(context, ggml_transpose(context, matrix_));
    return {.inputs = {}, .tokens = ggml_mul_mat(context, turned, rows)};
}

}  // namespace

Result<std::unique_ptr<VisionTower>> open_smolvlm_tower(const GgufReader& reader) {
    return SmolVlmTower::open(reader);
}

Result<std::unique_ptr<VisionTower>> open_gemma3_tower(const GgufReader& reader) {
    return Gemma3Tower::open(reader);
}

}  // namespace clasp::model
