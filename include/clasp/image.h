// Pictures from outside: bytes or a file in, upright 8-bit RGB out. The format is told by content,
// never by name. Sizes are checked against limits from the header, before memory for pixels is taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp {

// Whose numbers are wanted: the original model's, or those of llama.cpp, for side-by-side tests. llama.cpp's
// LLaVA differs: pictures are resized in single precision, by a pixel here and there; it puts the class token
// behind the patches, so that patch 0 is lost, every patch takes its neighbour's position and the class token
// reaches the decoder; it leaves out the last block; and its projector uses the tanh form of GELU
// (docs/design/faithful-llava.md).
enum class Compat : std::uint8_t { Original, LlamaCpp };

// How finely a model sees pictures, where it leaves a choice. 0 and "": as its authors have it. What a model
// has no choice in is refused.
struct PictureDetail {
    std::size_t min_tokens = 0;  // visual tokens of a picture at least: of models that take any size
    std::size_t max_tokens = 0;  // and at most
    std::size_t max_tiles = 0;   // of models that cut pictures into as many tiles as fit
    // Of models that cut pictures into tiles with an order by name (LLaVA-NeXT): "flat", "spatial" or
    // "spatial_unpad".
    std::string tile_merge = {};
    // The line breaks behind rows of such tiles: "carried" along with the tokens of their row ("" means the
    // same), or "as-patch": tokens like any other, which methods choose from and budgets count.
    std::string newline = {};
    // Limits by name instead: "paper", those of the evaluation behind the published figures.
    std::string preset = {};

    friend bool operator==(const PictureDetail&, const PictureDetail&) = default;
};

enum class ImageFormat : std::uint8_t { Unknown, Jpeg, Png, Webp, Gif, Bmp };

// "JPEG", "PNG", "WebP", "GIF", "BMP" or "unknown".
std::string_view image_format_name(ImageFormat format);

// Every limit is finite; sizes are checked on what the file's header states, work and time while decoding.
// Going over one gives Code::TooLarge; going under min_side gives Code::InvalidArgument.
struct ImageLimits {
    std::size_t max_file_bytes = std::size_t{20} << 20;  // encoded size, 20 MiB
    std::size_t max_pixels = 50'000'000;                 // width * height; 150 MB once decoded
    std::size_t max_side = 16'384;                       // pixels
    std::size_t min_side = 2;                            // pixels
    double max_aspect_ratio = 200.0;                     // long side over short side
    int max_scans = 100;                                 // of a progressive JPEG
    // Colour samples of pixels, times the passes that the format makes over them: a few kilobytes can ask for
    // hours. The largest progressive photograph needs about 850 million.
    std::uint64_t max_work = 1'000'000'000;
    // By the clock on the wall, for what the count of samples does not see.
    double max_seconds = 20.0;
};

// What becomes of transparency: nothing (colours are taken as stored), or pictures in true colour with alpha,
// PNG and WebP, are laid on white.
enum class Alpha : std::uint8_t { Drop, OnWhite };

struct ImageOptions {
    ImageLimits limits = {};
    Alpha alpha = Alpha::Drop;
    // Turn the picture upright as its Exif orientation says. llama.cpp does not.
    bool apply_orientation = true;
    // Set from any thread to stop: the result is then Code::Cancelled. May be null.
    const std::atomic<bool>* cancel = nullptr;
};

struct PixelSize {
    int width = 0;
    int height = 0;
    friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

// What a file says of its picture before the pixels.
struct ImageHeader {
    PixelSize size;  // turned upright, if that was asked for
    ImageFormat format = ImageFormat::Unknown;
    int orientation = 1;  // as in Image
};

struct Image {
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgb;  // height * width * 3, row by row from the top, no padding
    ImageFormat format = ImageFormat::Unknown;
    // The Exif orientation found in the file, 1 to 8 (1: stored upright, or nothing usable said).
    int orientation = 1;
    // Pixels are missing or damaged: what could be read stands in rgb, the rest is grey. The reason is
    // in warnings.
    bool is_partial = false;
    // One sentence each. Never empty when is_partial.
    std::vector<std::string> warnings;
};

// Looks at the first bytes only. Unknown also for formats that are recognised but not decoded.
ImageFormat sniff_image(std::span<const std::uint8_t> bytes);

// The header of a picture, checked against the limits as decode_image() checks it; no memory for pixels is
// taken. Pictures that decode have the size that this says. Errors: as decode_image().
Result<ImageHeader> read_image_header(std::span<const std::uint8_t> bytes, const ImageOptions& options = {});

// Decodes the first frame of a picture. Colours are those the original models were trained with
// (Pillow's convert("RGB")): alpha is dropped, not blended, unless that is asked for; grey is repeated;
// 16-bit samples lose their low byte; CMYK is converted without a profile, four-component JPEG being taken as
// inverted ink in Adobe's way; gamma and colour profiles are not applied.
//
// A damaged file that still yields rows gives an image with is_partial set; one that yields none is an
// error. Errors: Corrupt, TooLarge, InvalidArgument (under min_side), Unsupported (a format or variant
// that is not decoded), OutOfMemory, Cancelled. Safe to call from many threads.
Result<Image> decode_image(std::span<const std::uint8_t> bytes, const ImageOptions& options = {});

// As above, from a regular file. Also NotFound and Unavailable when it cannot be read, InvalidArgument
// when it is no regular file. Messages name the path.
Result<Image> load_image(const std::string& path, const ImageOptions& options = {});

}  // namespace clasp
