#include "engine/method_fit.h"

#include <algorithm>
#include <string>

namespace clasp::engine {

namespace {

Status unsupported(const methods::Method& method, const std::string& why) {
    return {Code::Unsupported, "method '" + std::string(method.name) + "' " + why};
}

}  // namespace

Status check_method_fit(const methods::Method& method, const methods::Program& program,
                        const model::VisionCapabilities& tower, const std::vector<ImageLayout>& images) {
    const methods::EncoderNeeds& needs = program.encoder;
    const bool reads_class =
        !needs.class_attention.empty() || !needs.class_query.empty() || !needs.keys.empty();
    if (reads_class && !tower.has_class_token) {
        return unsupported(method, "needs an encoder with a class token, which this model does not have");
    }
    const bool merges_inside = !program.encoder_blocks.empty();
    const bool acts_before = program.has_after_encoder || merges_inside;
    if (tower.merge > 1 && (acts_before || reads_class || !needs.layers.empty())) {
        return unsupported(method, "works on the encoder's rows, of which this model makes one token from " +
                                       std::to_string(tower.merge * tower.merge));
    }
    if (merges_inside && !tower.merges_inside) {
        return unsupported(method, "merges rows inside the encoder, which is not available for this model");
    }
    const bool has_pieces = std::any_of(images.begin(), images.end(),
                                        [](const ImageLayout& image) { return image.n_pieces > 1; });
    // Their class token is a token of the picture, and not one that a method may add or must keep.
    const bool has_class_rows = std::any_of(images.begin(), images.end(), [](const ImageLayout& image) {
        return std::any_of(image.regions.begin(), image.regions.end(),
                           [](const TokenRegion& region) { return region.has_class; });
    });
    if (has_pieces && (merges_inside || !needs.class_query.empty())) {
        return unsupported(method,
                           "looks at a picture through one pass of the encoder, but a picture of this "
                           "request is cut into several pieces");
    }
    if (has_class_rows && (merges_inside || !needs.class_query.empty())) {
        return unsupported(
            method, "takes the class token for none of the picture's tokens, but here it is one of them");
    }
    const bool has_breaks = std::any_of(images.begin(), images.end(), [](const ImageLayout& image) {
        return std::any_of(image.regions.begin(), image.regions.end(),
                           [](const TokenRegion& region) { return region.has_breaks; });
    });
    if (has_breaks && (acts_before || reads_class || !needs.layers.empty())) {
        return unsupported(method,
                           "works on the encoder's rows, of which line breaks that are treated as patches "
                           "have none");
    }
    const auto apart = std::find_if(images.begin(), images.end(),
                                    [](const ImageLayout& image) { return image.regions.size() > 1; });
    if (program.uses_grid && apart != images.end()) {
        return unsupported(method,
                           "takes the tokens of a picture as one grid, but a picture of this request "
                           "has " +
                               std::to_string(apart->regions.size()));
    }
    if (program.uses_grid && has_class_rows) {
        return unsupported(
            method, "takes the tokens of a picture as one grid, but beside its grid it has a class row");
    }
    const bool is_placed =
        std::all_of(images.begin(), images.end(), [](const ImageLayout& image) { return image.is_placed; });
    if (program.uses_grid && !is_placed) {
        return unsupported(
            method, "takes the tokens of a picture as one grid, and this model does not say where they lie");
    }
    return ok_status();
}

}  // namespace clasp::engine
