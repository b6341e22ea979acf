#include "model/vision_videollava.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/projector_mlp.h"
#include "model/vision_clip_file.h"
#include "model/vision_videollava_file.h"
#include "model/vit.h"

namespace clasp::model {

namespace {

// Of PieceShape::tower.
constexpr std::size_t kPictureTower = 0;
constexpr std::size_t kFrameTower = 1;

using Preprocess = VideoLlavaFile::Preprocess;

class VideoLlavaTower final : public VisionTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader);

    [[nodiscard]] const VisionInfo& info() const override { return file_.info; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    [[nodiscard]] Result<VisionPlan> plan_clip(const ClipFrames& clip,
                                               const PlanOptions& options) const override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override {
        return build_group_encoder(context, graph, std::span(&piece, 1), request);
    }
    EncoderGraph build_group_encoder(ggml_context* context, ggml_cgraph* graph,
                                     std::span<const PiecePixels> pieces,
                                     const EncodeRequest& request) const override {
        return tower(pieces.front().piece.shape.tower).build_encoder(context, graph, pieces, request);
    }
    StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                               const EncoderStretch& stretch) const override {
        return tower(stretch.tower).build_stretch(context, graph, stretch);
    }
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& /*shape*/,
                                   Compat compat) const override {
        return {.inputs = {}, .tokens = projector_.build(context, fused, compat)};
    }
    [[nodiscard]] std::size_t max_nodes() const override { return frames_.max_nodes(); }

   private:
    [[nodiscard]] const Vit& tower(std::size_t number) const {
        return number == kPictureTower ? pictures_ : frames_;
    }

    VideoLlavaFile file_;
    Vit pictures_;
    Vit frames_;
    MlpProjector projector_;
    std::vector<WeightSpec> specs_;
};

Result<std::unique_ptr<VisionTower>> VideoLlavaTower::open(const GgufReader& reader) {
    auto tower = std::make_unique<VideoLlavaTower>();
    CLASP_ASSIGN_OR_RETURN(tower->file_, read_videollava_file(reader));
    VisionInfo& info = tower->file_.info;
    CLASP_ASSIGN_OR_RETURN(tower->projector_, MlpProjector::open(reader, info.width, kLlavaProjector));
    info.projector_width = tower->projector_.hidden_width();
    info.output_width = tower->projector_.output_width();
    VitTraits traits = {.has_patch_bias = reader.find_tensor("v.patch_embd.bias") != nullptr,
                        .has_pre_norm = true,
                        .may_swap_ffn = true,
                        .is_in_llama_cpp = false};
    tower->pictures_ = Vit(reader, info, traits, tower->specs_);
    traits.prefix = "vv.";
    traits.falls_back = true;
    if (tower->file_.has_temporal_part) traits.n_frames = tower->file_.n_frames;
    tower->frames_ = Vit(reader, info, traits, tower->specs_);
    tower->projector_.add_specs(tower->specs_);
    for (const WeightSpec& spec : tower->specs_) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    CLASP_RETURN_IF_ERROR(check_videollava_tensors(reader, tower->specs_));
    count_weights(reader, tower->specs_, info);
    return std::unique_ptr<VisionTower>(std::move(tower));
}

void VideoLlavaTower::bind(const WeightStore& store) {
    pictures_.bind(store);
    frames_.bind(store);
    projector_.bind(store);
}

// The whole picture with its shorter side at `side`.
PixelSize scaled_to_short_side(PixelSize picture, std::size_t side, Preprocess preprocess) {
    const auto to = static_cast<double>(side);
    const double shorter = std::min(picture.width, picture.height);
    const double longer = std::max(picture.width, picture.height);
    // The libraries of the two multiply in different orders, and both cut off.
    const double exact =
        preprocess == Preprocess::LanguageBind ? longer / shorter * to : to * longer / shorter;
    const int longest = static_cast<int>(std::min(exact, 2.0 * image::kMaxResizeSide));
    const int shortest = static_cast<int>(side);
    return picture.width <= picture.height ? PixelSize{shortest, longest} : PixelSize{longest, shortest};
}

// Where the square in the middle begins.
int middle(int whole, int side, Preprocess preprocess) {
    const int rest = whole - side;
    if (preprocess == Preprocess::Clip) return rest / 2;
    return static_cast<int>(std::nearbyint(rest / 2.0));  // halves to even
}

// A square in the middle of the picture, whose shorter side it covers.
Result<VisionPlan> centre_plan(PixelSize picture, std::size_t side, Preprocess preprocess,
                               const PieceShape& shape) {
    const PixelSize whole = scaled_to_short_side(picture, side, preprocess);
    if (std::max(whole.width, whole.height) > image::kMaxResizeSide) {
        return Status(Code::Unsupported, "a picture of " + std::to_string(picture.width) + " x " +
                                             std::to_string(picture.height) +
                                             " pixels is too narrow to be scaled to a shorter side of " +
                                             std::to_string(side));
    }
    const bool is_plain = preprocess == Preprocess::LanguageBind;
    const image::Filter filter = is_plain ? image::Filter::Bilinear : image::Filter::Bicubic;
    VisionPlan plan = single_piece_plan(picture, image::stretch_fit(whole, filter), shape);
    plan.views.front().is_plain = is_plain;
    ImagePiece& piece = plan.pieces.front();
    const int edge = static_cast<int>(side);
    piece.left = middle(whole.width, edge, preprocess);
    piece.top = middle(whole.height, edge, preprocess);
    piece.size = {edge, edge};
    plan.layout.regions.front().area = area_of(plan, piece);
    return plan;
}

Result<VisionPlan> VideoLlavaTower::plan(PixelSize picture, const PlanOptions& options) const {
    const PieceShape shape = {.patches = info().grid, .n_prefix = 1, .merge = 1, .tower = kPictureTower};
    const std::size_t side = info().image_size;
    if (file_.preprocess == Preprocess::Clip) return centre_plan(picture, side, Preprocess::Clip, shape);
    const image::Fit fit =
        image::square_fit(picture, static_cast<int>(side), image::kClipMeanColour, options.compat);
    return single_piece_plan(picture, fit, shape);
}

// Frame after frame with nothing between them.
Result<VisionPlan> VideoLlavaTower::plan_clip(const ClipFrames& clip, const PlanOptions& /*options*/) const {
    if (file_.has_temporal_part && clip.n() != file_.n_frames) {
        return Status(Code::InvalidArgument, "the model sees " + std::to_string(file_.n_frames) +
                                                 " frames of every clip, not " + std::to_string(clip.n()));
    }
    const PieceShape shape = {.patches = info().grid,
                              .n_prefix = 1,
                              .merge = 1,
                              .projects_prefix = file_.keeps_class_rows,
                              .tower = kFrameTower};
    CLASP_ASSIGN_OR_RETURN(VisionPlan frame,
                           centre_plan(clip.size, info().image_size, file_.preprocess, shape));
    frame.layout.regions.front().has_class = file_.keeps_class_rows;
    VisionPlan plan = frames_plan(clip, frame, [](std::size_t /*frame*/) { return ""; });
    if (file_.has_temporal_part) plan.pieces_at_once = file_.n_frames;
    return plan;
}

}  // namespace

Result<std::unique_ptr<VisionTower>> open_videollava_tower(const GgufReader& reader) {
    return VideoLlavaTower::open(reader);
}

}  // namespace clasp::model
