// Vision files from memory: container, keys, tensor table, weights, and a picture through towers small
// enough. Anything may be refused; nothing may crash or allocate out of proportion to the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "model/vision_model.h"

namespace {

using clasp::model::Compute;
using clasp::model::VisionModel;
using clasp::model::VisionSession;

constexpr std::size_t kMaxTokens = 64;
constexpr std::size_t kMaxParameters = 1U << 20;
constexpr std::size_t kMaxImageSize = 128;

// The frames of a clip, which a tower may see together.
void encode_clip(const VisionModel& model, VisionSession& session, clasp::PixelSize size) {
    const std::size_t n = model.info().clip ? model.info().clip->n_frames : 2;
    clasp::model::ClipFrames clip = {size, std::vector<double>(n, 0.0), 2.0};
    const auto plan = model.plan_clip(clip, {});
    if (!plan.ok()) {
        if (plan.status().code() == clasp::Code::Internal) std::abort();
        return;
    }
    if (!model.info().clip || plan->layout.n_tokens() > 4 * kMaxTokens) return;
    std::vector<clasp::model::PiecePixels> pieces;
    for (std::size_t i = 0; i < plan->pieces_at_once; ++i) {
        const clasp::PixelSize shown = plan->pieces[i].size;
        const auto n_pixels = static_cast<std::size_t>(shown.width) * static_cast<std::size_t>(shown.height);
        pieces.push_back({plan->pieces[i], std::vector<float>(3 * n_pixels, 0.5F)});
    }
    const std::size_t last = model.info().n_blocks - 1;
    const auto layers =
        session.encode_group(pieces, {.layers = {last}, .class_attention = {0}, .keys = {last}});
    if (layers.ok()) {
        static_cast<void>(session.project(layers->back(), {{.layer = last, .weight = 1.0}}).ok());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::shared_ptr<Compute> compute = *Compute::create({.n_threads = 1, .use_gpu = false});
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto info = clasp::model::inspect_vision(bytes);
    if (!info.ok()) return 0;
    const auto model = VisionModel::load_bytes(bytes, {}, compute);
    if (!model.ok() || info->n_tokens() > kMaxTokens || info->n_parameters > kMaxParameters ||
        info->image_size > kMaxImageSize) {
        return 0;
    }
    const auto session = VisionSession::create(*model);
    if (!session.ok()) return 0;
    const auto side = static_cast<int>(info->image_size);
    // Whatever the file says of tiles: plans of any size hold together.
    for (const clasp::PixelSize picture : {clasp::PixelSize{side, side}, {2 * side + 1, side}, {2, 400}}) {
        for (const auto compat : {clasp::Compat::Original, clasp::Compat::LlamaCpp}) {
            const auto any = (*model)->plan(picture, {compat});
            if (!any.ok() && any.status().code() == clasp::Code::Internal) std::abort();
        }
    }
    const auto plan = (*model)->plan({side, side}, {});
    if (!plan.ok()) return 0;
    static_cast<void>((*model)->fixed_row(0).ok());
    const clasp::PixelSize shown = plan->pieces.front().size;
    constexpr int kMaxSide = kMaxImageSize;
    if (shown.width > kMaxSide || shown.height > kMaxSide) return 0;
    const clasp::model::PiecePixels pixels = {
        plan->pieces.front(),
        std::vector<float>(3 * static_cast<std::size_t>(shown.width) * static_cast<std::size_t>(shown.height),
                           0.5F)};
    const std::size_t last = info->n_blocks - 1;
    const clasp::Mix mix = {{.layer = last, .weight = 1.0}};
    clasp::model::EncodeRequest request = {.layers = clasp::model::layers_of(mix, *info), .keys = {last}};
    if (info->capabilities.has_class_token) request.class_attention = {0};
    const auto layers = (*session)->encode(pixels, request);
    if (layers.ok()) {
        static_cast<void>((*session)->project(*layers, mix).ok());
        static_cast<void>((*session)->project_branches(*layers).ok());
    }
    encode_clip(**model, **session, {2 * side + 1, side});
    return 0;
}
