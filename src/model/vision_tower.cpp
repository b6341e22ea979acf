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

Result<std::vector<PiecePixels>> VisionTower::preprocess(const Image& picture, const VisionPlan& plan,
                                                         Compat compat) const {
    image::Normalisation normalisation;
    normalisation.mean = info().mean;
    normalisation.deviation = info().std;
    return render_pieces(picture, plan, normalisation, compat);
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
