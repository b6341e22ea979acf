#include "image/limits.h"

#include <algorithm>
#include <limits>
#include <new>
#include <sstream>
#include <string>

#include "base/checked.h"

namespace clasp::image {

namespace {

std::string size_text(std::uint64_t width, std::uint64_t height) {
    return std::to_string(width) + " x " + std::to_string(height);
}

std::string ratio_text(double ratio) {
    std::ostringstream text;
    text << ratio;
    return text.str();
}

}  // namespace

Status check_size(std::uint64_t width, std::uint64_t height, const ImageLimits& limits) {
    if (width == 0 || height == 0) {
        return {Code::Corrupt, "the picture has no pixels: its header says " + size_text(width, height)};
    }
    if (std::max(width, height) > limits.max_side) {
        return {Code::TooLarge, "a picture of " + size_text(width, height) + " pixels exceeds the limit of " +
                                    std::to_string(limits.max_side) + " pixels per side"};
    }
    // Both sides fit the side limit, so only a caller's absurd limit could make this overflow.
    const auto pixels = base::checked_multiply(width, height);
    if (!pixels || *pixels > limits.max_pixels) {
        return {Code::TooLarge, "a picture of " + size_text(width, height) + " pixels exceeds the limit of " +
                                    std::to_string(limits.max_pixels) + " pixels in all"};
    }
    if (std::min(width, height) < limits.min_side) {
        return {Code::InvalidArgument, "a picture of " + size_text(width, height) +
                                           " pixels is below the limit of " +
                                           std::to_string(limits.min_side) + " pixels per side"};
    }
    const double ratio =
        static_cast<double>(std::max(width, height)) / static_cast<double>(std::min(width, height));
    if (ratio > limits.max_aspect_ratio) {
        return {Code::TooLarge, "a picture of " + size_text(width, height) +
                                    " pixels exceeds the aspect ratio limit of " +
                                    ratio_text(limits.max_aspect_ratio) + " to 1"};
    }
    return ok_status();
}

Result<Image> make_image(std::uint64_t width, std::uint64_t height, std::uint8_t fill) {
    constexpr std::uint64_t kMaxInt = std::numeric_limits<int>::max();
    const auto pixels = base::checked_multiply(width, height);
    const auto bytes = pixels ? base::checked_multiply(*pixels, 3) : std::nullopt;
    if (width > kMaxInt || height > kMaxInt || !bytes) {
        return Status(Code::TooLarge,
                      "a picture of " + size_text(width, height) + " pixels cannot be addressed");
    }
    Image image;
    try {
        image.rgb.assign(*bytes, fill);
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory,
                      "not enough memory for a picture of " + size_text(width, height) + " pixels");
    }
    image.width = static_cast<int>(width);
    image.height = static_cast<int>(height);
    return image;
}

}  // namespace clasp::image
