#include "model/vision_clip.h"

#include <string>

#include "ggml-backend.h"
#include "model/projector_mlp.h"
#include "model/tile_rule_file.h"
#include "model/tiled_plan.h"
#include "model/vision_clip_file.h"
#include "model/vit.h"

namespace clasp::model {

namespace {

class ClipTower final : public VisionTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader);

    [[nodiscard]] const VisionInfo& info() const override { return info_; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    [[nodiscard]] Result<VisionPlan> plan_clip(const ClipFrames& clip,
                                               const PlanOptions& options) const override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override {
        return vit_.build_encoder(context, graph, piece, request);
    }
    StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                               const EncoderStretch& stretch) const override {
        return vit_.build_stretch(context, graph, stretch);
    }
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& /*shape*/,
                                   Compat compat) const override {
        return {.inputs = {}, .tokens = projector_.build(context, fused, compat)};
    }
    [[nodiscard]] std::vector<float> fixed_row(std::size_t /*number*/) const override { return newline_; }
    [[nodiscard]] std::size_t max_nodes() const override { return vit_.max_nodes(); }

   private:
    [[nodiscard]] Result<TileRule> tiles_for(const PlanOptions& options) const;

    VisionInfo info_;
    Vit vit_;
    MlpProjector projector_;
    std::vector<WeightSpec> specs_;
    std::string newline_name_;    // empty: no line breaks
    std::vector<float> newline_;  // of the decoder's width
};

Result<std::unique_ptr<VisionTower>> ClipTower::open(const GgufReader& reader) {
    auto tower = std::make_unique<ClipTower>();
    CLASP_ASSIGN_OR_RETURN(tower->info_, read_clip_info(reader));
    VisionInfo& info = tower->info_;
    CLASP_ASSIGN_OR_RETURN(tower->projector_, MlpProjector::open(reader, info.width, kLlavaProjector));
    info.projector_width = tower->projector_.hidden_width();
    info.output_width = tower->projector_.output_width();
    tower->vit_ = Vit(reader, info,
                      {.has_patch_bias = reader.find_tensor("v.patch_embd.bias") != nullptr,
                       .has_pre_norm = true,
                       .may_swap_ffn = true,
                       .llama_cpp_projects_class = true},
                      tower->specs_);
    tower->projector_.add_specs(tower->specs_);
    if (info.tiles && info.tiles->has_newline) {
        tower->newline_name_ = newline_tensor(reader);
        const auto width = static_cast<std::int64_t>(info.output_width);
        tower->specs_.push_back({.name = tower->newline_name_,
                                 .parts = {tower->newline_name_},
                                 .part_shape = {width},
                                 .width = width});
    }
    for (const WeightSpec& spec : tower->specs_) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    info.has_post_norm = reader.find_tensor("v.post_ln.weight") != nullptr;
    count_weights(reader, tower->specs_, info);
    return std::unique_ptr<VisionTower>(std::move(tower));
}

void ClipTower::bind(const WeightStore& store) {
    vit_.bind(store);
    projector_.bind(store);
    if (newline_name_.empty()) return;
    newline_.resize(info_.output_width);
    ggml_backend_tensor_get(store.get(newline_name_), newline_.data(), 0, newline_.size() * sizeof(float));
}

// The file's rule, with another order if one was asked for.
Result<TileRule> ClipTower::tiles_for(const PlanOptions& options) const {
    TileRule rule = *info_.tiles;
    rule.newlines_are_tokens = options.detail.newline == "as-patch";
    if (options.detail.tile_merge.empty()) return rule;
    const auto merge = parse_tile_merge(options.detail.tile_merge);
    if (!merge.ok()) {
        return Status(Code::InvalidArgument, "there is no order of tiles " + merge.status().message());
    }
    rule.merge = *merge;
    if (rule.merge == TileMerge::SpatialUnpad && !rule.has_newline) {
        return Status(
            Code::InvalidArgument,
            "spatial_unpad puts a newline vector behind each row, but the vision file has no tensor "
            "model.image_newline");
    }
    if (options.compat == Compat::LlamaCpp && rule.merge != TileMerge::Flat) {
        return Status(Code::InvalidArgument, "llama.cpp has the tokens of tiles in one order, flat, not " +
                                                 options.detail.tile_merge);
    }
    return rule;
}

// LLaVA-NeXT: tiles and an overview. LLaVA-1.5: the picture on a square of the mean colour.
Result<VisionPlan> ClipTower::plan(PixelSize picture, const PlanOptions& options) const {
    const Compat compat = options.compat;
    const PieceShape shape = {.patches = info_.grid, .n_prefix = 1, .merge = 1};
    if (info_.tiles) {
        CLASP_ASSIGN_OR_RETURN(const TileRule rule, tiles_for(options));
        return tiled_plan(picture, rule, shape, compat);
    }
    const image::Fit fit =
        image::square_fit(picture, static_cast<int>(info_.image_size), image::kClipMeanColour, compat);
    return single_piece_plan(picture, fit, shape);
}

// LLaVA-NeXT sees frames without tiles, as its overviews: so many tiles of so many frames fit no context.
Result<VisionPlan> ClipTower::plan_clip(const ClipFrames& clip, const PlanOptions& options) const {
    if (!info_.tiles) return VisionTower::plan_clip(clip, options);
    if (!options.detail.tile_merge.empty() || !options.detail.newline.empty()) {
        return Status(Code::InvalidArgument,
                      "frames of a clip are seen without tiles, so that there is no order of "
                      "tiles and no line break to choose");
    }
    const auto side = static_cast<int>(info_.image_size);
    const VisionPlan frame =
        single_piece_plan(clip.size, image::stretch_fit({side, side}, image::Filter::Bicubic),
                          {.patches = info_.grid, .n_prefix = 1, .merge = 1});
    return frames_plan(clip, frame, [&](std::size_t i) { return i == 0 ? "" : info_.words.after; });
}

}  // namespace

Result<std::unique_ptr<VisionTower>> open_clip_tower(const GgufReader& reader) {
    return ClipTower::open(reader);
}

}  // namespace clasp::model
