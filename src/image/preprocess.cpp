#include "image/preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <string>

namespace clasp::image {

namespace {

// The size to which a picture is scaled to fit `target`.
Size fitted_size(const Image& image, Size target, Arithmetic arithmetic) {
    if (arithmetic == Arithmetic::LlamaCpp) {
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

Result<Image> fit_square(const Image& image, int side, const Colour& colour, Arithmetic arithmetic) {
    CLASP_RETURN_IF_ERROR(check_picture(image));
    if (arithmetic == Arithmetic::LlamaCpp) {
        return fit_padded(image, {side, side}, colour, Filter::Bicubic, arithmetic);
    }
    const int longest = std::max(image.width, image.height);
    const Canvas square{
        {longest, longest}, (longest - image.width) / 2, (longest - image.height) / 2, colour};
    return resize_on_canvas(image, square, {side, side}, Filter::Bicubic);
}

Result<Image> fit_padded(const Image& image, Size target, const Colour& colour, Filter filter,
                         Arithmetic arithmetic) {
    CLASP_RETURN_IF_ERROR(check_picture(image));
    const Size size = fitted_size(image, target, arithmetic);
    CLASP_ASSIGN_OR_RETURN(const Image scaled, resize(image, size, filter));
    return paint_on_canvas(
        scaled, {target, (target.width - size.width) / 2, (target.height - size.height) / 2, colour});
}

Result<PixelPlanes> normalise(const Image& image, const Normalisation& normalisation, Arithmetic arithmetic) {
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
            const float unit = arithmetic == Arithmetic::LlamaCpp ? static_cast<float>(value) / 255.0F
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
