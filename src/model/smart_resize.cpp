#include "model/smart_resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace clasp::model {

namespace {

double round_to_integer(double value) {
    return std::nearbyint(value);  // halves to even
}
float round_to_integer(float value) {
    return std::round(value);  // halves away from zero
}

// The same steps in the precision of either rule.
template <typename Real>
PixelSize choose_size(PixelSize picture, const SmartResize& rule) {
    const int side = rule.token_side;
    const auto factor = static_cast<Real>(side);
    const auto area = static_cast<std::int64_t>(side) * side;
    const std::int64_t least = area * static_cast<std::int64_t>(rule.min_tokens);
    const double most = rule.max_pixels > 0.0
                            ? rule.max_pixels
                            : static_cast<double>(area * static_cast<std::int64_t>(rule.max_tokens));
    const auto width = static_cast<Real>(picture.width);
    const auto height = static_cast<Real>(picture.height);
    const auto whole = [&](Real tokens) { return static_cast<int>(tokens) * side; };
    PixelSize size = {std::max(side, whole(round_to_integer(width / factor))),
                      std::max(side, whole(round_to_integer(height / factor)))};
    const std::int64_t n_pixels = std::int64_t{size.width} * size.height;
    if (static_cast<double>(n_pixels) > most) {
        const Real shrink = std::sqrt(height * width / static_cast<Real>(most));
        size = {std::max(side, whole(std::floor(width / shrink / factor))),
                std::max(side, whole(std::floor(height / shrink / factor)))};
    } else if (n_pixels < least) {
        const Real grow = std::sqrt(static_cast<Real>(least) / (height * width));
        size = {whole(std::ceil(width * grow / factor)), whole(std::ceil(height * grow / factor))};
    }
    return size;
}

}  // namespace

Result<PixelSize> smart_resize(PixelSize picture, const SmartResize& rule, Compat compat) {
    if (rule.min_tokens > rule.max_tokens) {
        return Status(Code::InvalidArgument, "a picture cannot have at least " +
                                                 std::to_string(rule.min_tokens) + " and at most " +
                                                 std::to_string(rule.max_tokens) + " tokens");
    }
    if (compat == Compat::LlamaCpp) return choose_size<float>(picture, rule);
    const auto [shorter, longer] = std::minmax(picture.width, picture.height);
    if (longer > std::int64_t{kMaxAspect} * shorter) {
        return Status(Code::InvalidArgument,
                      "a picture of " + std::to_string(picture.width) + " x " +
                          std::to_string(picture.height) + " pixels is too thin for this model: one side " +
                          "may be at most " + std::to_string(kMaxAspect) + " times the other");
    }
    return choose_size<double>(picture, rule);
}

}  // namespace clasp::model
