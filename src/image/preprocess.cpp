#include "image/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <string>

namespace clasp::image {

namespace {

// The size to which a picture is scaled to fit `target`.
Size fitted_size(Size image, Size target, Compat compat) {
    if (compat == Compat::LlamaCpp) {
        const float scale = std::min(static_cast<float>(target.width) / static_cast<float>(image.width),
                                     static_cast<float>(target.height) / static_cast<float>(image.height));
        return {
            std::min(static_cast<int>(std::ceil(static_cast<float>(image.width) * scale)), target.width),
            std::min(static_cast<int>(std::ceil(static_cast<float>(image.height) * scale)), target.height)};
    }
    const double scale_x = static_cast<double>(target.width) / image.width;
    const double scale_y = static_cast<double>(target.height) / image.height;
    if (scale_x < scale_y) {
        return {target.width, std::min(static_cast<int>(std::ceil(image.height * scale_x)), target.height)};
    }
    return {std::min(static_cast<int>(std::ceil(image.width * scale_y)), target.width), target.height};
}

Status check_picture(const Image& image) {
    if (image.width < 1 || image.height < 1) return {Code::InvalidArgument, "the picture is empty"};
    return ok_status();
}

}  // namespace

Fit stretch_fit(Size target, Filter filter) {
    return {.before = {}, .resized = target, .after = {}, .filter = filter};
}

Fit square_fit(Size picture, int side, const Colour& colour, Compat compat) {
    if (compat == Compat::LlamaCpp) {
        return padded_fit(picture, {side, side}, colour, Filter::Bicubic, compat);
    }
    const int longest = std::max(picture.width, picture.height);
    const Canvas square{
        {longest, longest}, (longest - picture.width) / 2, (longest - picture.height) / 2, colour};
    return {.before = square, .resized = {side, side}, .after = {}, .filter = Filter::Bicubic};
}

Fit padded_fit(Size picture, Size target, const Colour& colour, Filter filter, Compat compat) {
    const Size size = fitted_size(picture, target, compat);
    const Canvas ground{target, (target.width - size.width) / 2, (target.height - size.height) / 2, colour};
    return {.before = {}, .resized = size, .after = ground, .filter = filter};
}

Result<Image> apply_fit(const Image& image, const Fit& fit) {
    CLASP_RETURN_IF_ERROR(check_picture(image));
    CLASP_ASSIGN_OR_RETURN(Image resized, fit.before.size == Size{}
                                              ? resize(image, fit.resized, fit.filter)
                                              : resize_on_canvas(image, fit.before, fit.resized, fit.filter));
    if (fit.after.size == Size{}) return resized;
    return paint_on_canvas(resized, fit.after);
}

Result<PixelPlanes> normalise(const Image& image, const Normalisation& normalisation, Compat compat) {
    CLASP_RETURN_IF_ERROR(check_picture(image));
    for (const float deviation : normalisation.deviation) {
        if (!std::isfinite(deviation) || deviation <= 0.0F) {
            return Status(Code::InvalidArgument,
                          "the standard deviation of a colour channel must be positive, not " +
                              std::to_string(deviation));
        }
    }
    const std::size_t n_pixels =
        static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
    PixelPlanes planes;
    planes.width = image.width;
    planes.height = image.height;
    try {
        planes.values.resize(n_pixels * 3);
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to normalise a picture");
    }
    for (std::size_t channel = 0; channel < 3; ++channel) {
        std::array<float, 256> table;
        for (int value = 0; value < 256; ++value) {
            const float unit = compat == Compat::LlamaCpp ? static_cast<float>(value) / 255.0F
                                                          : static_cast<float>(value * (1.0 / 255.0));
            table[static_cast<std::size_t>(value)] =
                (unit - normalisation.mean[channel]) / normalisation.deviation[channel];
        }
        float* out = planes.values.data() + channel * n_pixels;
        for (std::size_t i = 0; i < n_pixels; ++i) out[i] = table[image.rgb[i * 3 + channel]];
    }
    return planes;
}

}  // namespace clasp::image
