#include "model/vision_tower.h"

#include "base/check.h"
#include "ggml-backend.h"

namespace clasp::model {

void fill_inputs(const std::vector<GraphInput>& inputs) {
    for (const GraphInput& input : inputs) {
        if (input.tensor->buffer == nullptr) continue;  // in no graph
        CLASP_CHECK(input.bytes.size() == ggml_nbytes(input.tensor));
        ggml_backend_tensor_set(input.tensor, input.bytes.data(), 0, input.bytes.size());
    }
}

namespace {

image::Normalisation normalisation_of(const VisionInfo& info) {
    image::Normalisation normalisation;
    normalisation.mean = info.mean;
    normalisation.deviation = info.std;
    return normalisation;
}

}  // namespace

Result<std::vector<PiecePixels>> VisionTower::preprocess(const Image& picture, const VisionPlan& plan,
                                                         Compat compat) const {
    return render_pieces(picture, plan, normalisation_of(info()), compat);
}

Result<std::vector<float>> VisionTower::pixel_values(const Image& part, Compat compat) const {
    CLASP_ASSIGN_OR_RETURN(image::PixelPlanes planes,
                           image::normalise(part, normalisation_of(info()), compat));
    return std::move(planes.values);
}

Result<std::vector<float>> VisionTower::plane_values(const image::PixelPlanes& part) const {
    return image::normalise(part, normalisation_of(info()));
}

EncoderGraph VisionTower::build_group_encoder(ggml_context* context, ggml_cgraph* graph,
                                              std::span<const PiecePixels> pieces,
                                              const EncodeRequest& request) const {
    CLASP_CHECK(pieces.size() == 1);
    return build_encoder(context, graph, pieces.front(), request);
}

Result<VisionPlan> VisionTower::plan_clip(const ClipFrames& clip, const PlanOptions& options) const {
    CLASP_ASSIGN_OR_RETURN(const VisionPlan frame, plan(clip.size, options));
    const PictureWords& words = info().words;
    const std::string gap = options.compat == Compat::Original ? words.gap + words.gap : "";
    return frames_plan(clip, frame, [&](std::size_t i) { return i == 0 ? "" : words.after + gap; });
}

StretchGraph VisionTower::build_stretch(ggml_context* /*context*/, ggml_cgraph* /*graph*/,
                                        const EncoderStretch& /*stretch*/) const {
    CLASP_CHECK(!info().capabilities.merges_inside);
    return {};
}

ProjectorGraph VisionTower::build_branch(ggml_context* /*context*/, ggml_tensor* /*rows*/,
                                         std::size_t /*branch*/, const PieceShape& /*shape*/,
                                         Compat /*compat*/) const {
    CLASP_CHECK(info().branch_layers.empty());
    return {};
}

Status VisionTower::attach(const OutsideModel& /*model*/) {
    return ok_status();
}

Result<std::vector<float>> VisionTower::encode_outside(const PiecePixels& /*piece*/) const {
    return Status(Code::Internal, "the vision tower is run by graphs");
}

std::vector<float> VisionTower::fixed_row(std::size_t /*number*/) const {
    return {};
}

}  // namespace clasp::model
