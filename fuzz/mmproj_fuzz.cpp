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
    return 0;
}
