#include "image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <numbers>
#include <string>
#include <vector>

#include "image/limits.h"

namespace clasp::image {

namespace {

// 32 bits less 8 for the sample and 2 for the overshoot of negative lobes.
constexpr int kPrecisionBits = 22;
constexpr std::int32_t kHalf = 1 << (kPrecisionBits - 1);

double support_of(Filter filter) {
    switch (filter) {
        case Filter::Bilinear: return 1.0;
        case Filter::Bicubic: return 2.0;
        case Filter::Lanczos: return 3.0;
    }
    return 0.0;
}

double sinc(double x) {
    if (x == 0.0) return 1.0;
    const double angle = x * std::numbers::pi;
    return std::sin(angle) / angle;
}

double weight_at(Filter filter, double x) {
    if (filter == Filter::Lanczos) return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
    x = std::abs(x);
    if (filter == Filter::Bilinear) return x < 1.0 ? 1.0 - x : 0.0;
    constexpr double a = -0.5;
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

// Which input samples make one output sample, and how much of each.
struct Taps {
    std::size_t n_per_output = 0;
    std::vector<std::size_t> first;  // per output sample
    std::vector<std::size_t> count;
    std::vector<std::int32_t> weights;  // n_per_output per output sample, fixed point
};

// Pillow adds a half and cuts off, which is not rounding for negative numbers; they become 0 anyway.
int pillow_round(double value) {
    return static_cast<int>(value + 0.5);  // NOLINT(bugprone-incorrect-roundings)
}

// The order of operations is Pillow's: results must agree to the last bit.
Taps make_taps(int in_size, int out_size, Filter filter) {
    const double scale = static_cast<double>(in_size) / out_size;
    const double stretch = std::max(scale, 1.0);
    const double support = support_of(filter) * stretch;
    const double shrink = 1.0 / stretch;
    const auto n_outputs = static_cast<std::size_t>(out_size);
    Taps taps;
    taps.n_per_output = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
    taps.first.resize(n_outputs);
    taps.count.resize(n_outputs);
    taps.weights.assign(n_outputs * taps.n_per_output, 0);
    std::vector<double> exact(taps.n_per_output);
    for (std::size_t out = 0; out < n_outputs; ++out) {
        const double centre = (static_cast<double>(out) + 0.5) * scale;
        const int first = std::max(pillow_round(centre - support), 0);
        const int end = std::min(pillow_round(centre + support), in_size);
        const auto count = static_cast<std::size_t>(end - first);
        double sum = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            exact[i] = weight_at(filter, (static_cast<double>(i) + first - centre + 0.5) * shrink);
            sum += exact[i];
        }
        for (std::size_t i = 0; i < count; ++i) {
            const double weight = sum != 0.0 ? exact[i] / sum : exact[i];
            const double fixed = weight * (1 << kPrecisionBits) + (weight < 0 ? -0.5 : 0.5);
            taps.weights[out * taps.n_per_output + i] = static_cast<std::int32_t>(fixed);
        }
        taps.first[out] = static_cast<std::size_t>(first);
        taps.count[out] = count;
    }
    return taps;
}

std::uint8_t to_byte(std::int32_t fixed) {
    return static_cast<std::uint8_t>(std::clamp(fixed >> kPrecisionBits, 0, 255));
}

void resize_row(const std::uint8_t* in, const Taps& taps, std::uint8_t* out) {
    for (std::size_t x = 0; x < taps.first.size(); ++x, out += 3) {
        const std::uint8_t* sample = in + taps.first[x] * 3;
        const std::int32_t* weight = taps.weights.data() + x * taps.n_per_output;
        std::int32_t red = kHalf;
        std::int32_t green = kHalf;
        std::int32_t blue = kHalf;
        for (std::size_t i = 0; i < taps.count[x]; ++i, sample += 3) {
            red += sample[0] * weight[i];
            green += sample[1] * weight[i];
            blue += sample[2] * weight[i];
        }
        out[0] = to_byte(red);
        out[1] = to_byte(green);
        out[2] = to_byte(blue);
    }
}

// rows: pointers to the input rows of the vertical pass, each row_bytes long.
void resize_columns(const std::vector<const std::uint8_t*>& rows, std::size_t row_bytes, const Taps& taps,
                    std::uint8_t* out) {
    std::vector<std::int32_t> sums(row_bytes);
    for (std::size_t y = 0; y < taps.first.size(); ++y, out += row_bytes) {
        std::fill(sums.begin(), sums.end(), kHalf);
        for (std::size_t i = 0; i < taps.count[y]; ++i) {
            const std::uint8_t* in = rows[taps.first[y] + i];
            const std::int32_t weight = taps.weights[y * taps.n_per_output + i];
            for (std::size_t k = 0; k < row_bytes; ++k) sums[k] += in[k] * weight;
        }
        for (std::size_t k = 0; k < row_bytes; ++k) out[k] = to_byte(sums[k]);
    }
}

std::size_t extent(int value) {
    return static_cast<std::size_t>(value);
}

std::string text_of(Size size) {
    return std::to_string(size.width) + " x " + std::to_string(size.height);
}

Status check_sides(Size size, const char* what) {
    if (size.width < 1 || size.height < 1 || size.width > kMaxResizeSide || size.height > kMaxResizeSide) {
        return {Code::InvalidArgument, std::string(what) + " of " + text_of(size) +
                                           " pixels is outside 1 to " + std::to_string(kMaxResizeSide) +
                                           " per side"};
    }
    return ok_status();
}

Status check_canvas(const Image& image, const Canvas& canvas) {
    CLASP_RETURN_IF_ERROR(check_sides({image.width, image.height}, "a picture"));
    CLASP_RETURN_IF_ERROR(check_sides(canvas.size, "a canvas"));
    if (canvas.left < 0 || canvas.top < 0 || canvas.left > canvas.size.width - image.width ||
        canvas.top > canvas.size.height - image.height) {
        return {Code::InvalidArgument, "a picture of " + text_of({image.width, image.height}) +
                                           " pixels does not lie wholly on its canvas of " +
                                           text_of(canvas.size)};
    }
    return ok_status();
}

void fill(std::vector<std::uint8_t>& row, const Colour& colour) {
    for (std::size_t i = 0; i < row.size(); i += 3) std::copy_n(colour.data(), 3, row.data() + i);
}

// Canvas rows after the horizontal pass: those of the picture, and one that stands for all rows of padding.
struct Strip {
    std::vector<std::uint8_t> pixels;
    std::vector<std::uint8_t> padding;
    std::vector<const std::uint8_t*> rows;  // per canvas row
};

Strip resize_rows(const Image& image, const Canvas& canvas, int out_width, Filter filter) {
    const std::size_t in_bytes = extent(canvas.size.width) * 3;
    const std::size_t out_bytes = extent(out_width) * 3;
    const bool keeps_width = out_width == canvas.size.width;
    const Taps taps = keeps_width ? Taps{} : make_taps(canvas.size.width, out_width, filter);
    std::vector<std::uint8_t> row(in_bytes);
    fill(row, canvas.colour);
    Strip strip;
    strip.padding.resize(out_bytes);
    strip.pixels.resize(out_bytes * extent(image.height));
    const auto convert = [&](std::uint8_t* out) {
        if (keeps_width) {
            std::copy(row.begin(), row.end(), out);
        } else {
            resize_row(row.data(), taps, out);
        }
    };
    convert(strip.padding.data());
    strip.rows.assign(extent(canvas.size.height), strip.padding.data());
    for (std::size_t y = 0; y < extent(image.height); ++y) {
        const std::uint8_t* in = image.rgb.data() + y * extent(image.width) * 3;
        std::copy_n(in, extent(image.width) * 3, row.data() + extent(canvas.left) * 3);
        std::uint8_t* out = strip.pixels.data() + y * out_bytes;
        convert(out);
        strip.rows[extent(canvas.top) + y] = out;
    }
    return strip;
}

}  // namespace

Result<Image> resize(const Image& image, Size target, Filter filter) {
    return resize_on_canvas(image, {{image.width, image.height}, 0, 0, {}}, target, filter);
}

Result<Image> resize_on_canvas(const Image& image, const Canvas& canvas, Size target, Filter filter) {
    CLASP_RETURN_IF_ERROR(check_canvas(image, canvas));
    CLASP_RETURN_IF_ERROR(check_sides(target, "a resized picture"));
    CLASP_ASSIGN_OR_RETURN(Image out, make_image(extent(target.width), extent(target.height), 0));
    out.format = image.format;
    try {
        const Strip strip = resize_rows(image, canvas, target.width, filter);
        const std::size_t row_bytes = extent(target.width) * 3;
        if (target.height == canvas.size.height) {
            for (std::size_t y = 0; y < strip.rows.size(); ++y) {
                std::copy_n(strip.rows[y], row_bytes, out.rgb.data() + y * row_bytes);
            }
        } else {
            const Taps taps = make_taps(canvas.size.height, target.height, filter);
            resize_columns(strip.rows, row_bytes, taps, out.rgb.data());
        }
    } catch (const std::bad_alloc&) {
        return Status(Code::OutOfMemory, "not enough memory to resize a picture to " + text_of(target));
    }
    return out;
}

Result<Image> paint_on_canvas(const Image& image, const Canvas& canvas) {
    return resize_on_canvas(image, canvas, canvas.size, Filter::Bilinear);
}

Result<Image> crop(const Image& image, int left, int top, Size size) {
    if (left < 0 || top < 0 || size.width < 1 || size.height < 1 || left > image.width - size.width ||
        top > image.height - size.height) {
        return Status(Code::InvalidArgument, "a crop of " + text_of(size) + " at " + std::to_string(left) +
                                                 ", " + std::to_string(top) +
                                                 " does not lie inside a picture of " +
                                                 text_of({image.width, image.height}));
    }
    CLASP_ASSIGN_OR_RETURN(Image out, make_image(extent(size.width), extent(size.height), 0));
    out.format = image.format;
    const std::size_t row_bytes = extent(size.width) * 3;
    for (std::size_t y = 0; y < extent(size.height); ++y) {
        const std::size_t from = (extent(top) + y) * extent(image.width) + extent(left);
        std::copy_n(image.rgb.data() + from * 3, row_bytes, out.rgb.data() + y * row_bytes);
    }
    return out;
}

}  // namespace clasp::image
