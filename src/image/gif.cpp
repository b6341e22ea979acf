// The first frame of a GIF through giflib, painted on its canvas.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <gif_lib.h>

#include "image/decoders.h"
#include "image/gif_codes.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

// What forgetting giflib's table of codes costs.
constexpr std::uint64_t kClearCodeWork = 512;

struct Source {
    Bytes left;
    Work* work;
};

int read_bytes(GifFileType* gif, GifByteType* out, int count) {
    auto* source = static_cast<Source*>(gif->UserData);
    const std::size_t n = std::min(source->left.size(), static_cast<std::size_t>(std::max(count, 0)));
    if (n == 0 || !source->work->spend(n * kPackedByteWork)) return 0;
    std::memcpy(out, source->left.data(), n);
    source->left = source->left.subspan(n);
    return static_cast<int>(n);
}

struct Close {
    GifFileType* gif;
    ~Close() { DGifCloseFile(gif, nullptr); }
};

Status damaged(int error) {
    const bool is_cut = error == D_GIF_ERR_READ_FAILED || error == D_GIF_ERR_EOF_TOO_SOON;
    const char* reason = is_cut ? "the file ends early" : GifErrorString(error);
    return {Code::Corrupt, std::string("the GIF picture cannot be decoded: ") +
                               (reason != nullptr ? reason : "unknown reason")};
}

// Steps over extensions up to the first frame; notes its transparent colour index, or -1.
Status find_frame(GifFileType* gif, Work& work, int& transparent) {
    transparent = NO_TRANSPARENT_COLOR;
    for (;;) {
        GifRecordType type = UNDEFINED_RECORD_TYPE;
        if (!work.spend(kMarkerWork)) return work.status();
        if (DGifGetRecordType(gif, &type) == GIF_ERROR) return damaged(gif->Error);
        if (type == IMAGE_DESC_RECORD_TYPE) return ok_status();
        if (type == TERMINATE_RECORD_TYPE) return {Code::Corrupt, "the GIF file holds no frame"};
        if (type != EXTENSION_RECORD_TYPE) continue;
        int code = 0;
        GifByteType* block = nullptr;
        if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) return damaged(gif->Error);
        while (block != nullptr) {
            GraphicsControlBlock control{};
            if (code == GRAPHICS_EXT_FUNC_CODE &&
                DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
                transparent = control.TransparentColor;
            }
            if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return damaged(gif->Error);
        }
    }
}

// Rows in the order in which they are stored: straight, or in the four passes of an interlaced frame.
std::vector<int> stored_rows(int height, bool is_interlaced) {
    std::vector<int> rows;
    rows.reserve(static_cast<std::size_t>(height));
    if (!is_interlaced) {
        for (int y = 0; y < height; ++y) rows.push_back(y);
        return rows;
    }
    constexpr std::array<std::array<int, 2>, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
    for (const auto& [first, step] : kPasses) {
        for (int y = first; y < height; y += step) rows.push_back(y);
    }
    return rows;
}

// 256 RGB triples; indices beyond the stored colours are black.
using GifPalette = std::array<std::uint8_t, 256 * 3>;

GifPalette read_palette(const ColorMapObject& map) {
    GifPalette palette{};
    const int n = std::clamp(map.ColorCount, 0, 256);
    for (int i = 0; i < n; ++i) {
        const GifColorType& colour = map.Colors[i];
        const auto at = static_cast<std::size_t>(i) * 3;
        palette[at] = colour.Red;
        palette[at + 1] = colour.Green;
        palette[at + 2] = colour.Blue;
    }
    return palette;
}

void fill(Image& image, const GifPalette& palette, int index) {
    const std::uint8_t* colour = palette.data() + static_cast<std::size_t>(index & 0xFF) * 3;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) std::copy_n(colour, 3, image.rgb.data() + i);
}

// Paints the frame's rows; parts outside the canvas are cut off. Returns the number of rows read.
int paint_frame(GifFileType* gif, const GifPalette& palette, Image& image, Work& work) {
    const GifImageDesc frame = gif->Image;
    std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
    const int visible = std::min(frame.Width, image.width - frame.Left);
    int n_read = 0;
    for (const int y : stored_rows(frame.Height, frame.Interlace)) {
        if (!work.spend(3 * line.size())) break;
        if (DGifGetLine(gif, line.data(), frame.Width) == GIF_ERROR) break;
        ++n_read;
        const int canvas_y = frame.Top + y;
        if (canvas_y >= image.height) continue;
        const auto at = static_cast<std::size_t>(canvas_y) * static_cast<std::size_t>(image.width) +
                        static_cast<std::size_t>(frame.Left);
        std::uint8_t* out = image.rgb.data() + at * 3;
        for (int x = 0; x < visible; ++x) {
            const auto index = std::size_t{line[static_cast<std::size_t>(x)]};
            std::copy_n(palette.data() + index * 3, 3, out + static_cast<std::size_t>(x) * 3);
        }
    }
    return n_read;
}

Status check_frame(const GifFileType& gif, const ImageLimits& limits) {
    const GifImageDesc& frame = gif.Image;
    if (frame.Width <= 0 || frame.Height <= 0) {
        return {Code::Corrupt, "the first frame of the GIF file has no pixels"};
    }
    if (frame.Left < 0 || frame.Top < 0 || frame.Left >= gif.SWidth || frame.Top >= gif.SHeight) {
        return {Code::Corrupt, "the first frame of the GIF file lies outside its canvas"};
    }
    const auto pixels = static_cast<std::size_t>(frame.Width) * static_cast<std::size_t>(frame.Height);
    if (pixels > limits.max_pixels) {
        return {Code::TooLarge, "the first frame of the GIF file, " + std::to_string(frame.Width) + " x " +
                                    std::to_string(frame.Height) + ", exceeds the limit of " +
                                    std::to_string(limits.max_pixels) + " pixels"};
    }
    return ok_status();
}

// Counts what clearing giflib's table will cost before it does so. `at` is where the frame's data begins.
Status check_codes(Bytes bytes, std::size_t at, const ImageLimits& limits, Work& work) {
    const std::size_t enough = limits.max_work / kClearCodeWork + 1;
    const std::size_t n_clear = count_clear_codes(bytes.subspan(at), bytes[at - 1], enough);
    return work.spend(n_clear * kClearCodeWork) ? ok_status() : work.status();
}

// Length of a colour table, in bytes, as the flags of a descriptor state it.
std::size_t colour_table_bytes(std::uint8_t flags) {
    return (flags & 0x80U) == 0 ? 0 : std::size_t{3} << ((flags & 7U) + 1);
}

// Steps over everything after the first frame, without decoding it. False when the bytes end, or stop
// making sense, before the end mark.
bool reaches_end_mark(Bytes left) {
    constexpr std::uint8_t kExtension = 0x21;
    constexpr std::uint8_t kFrame = 0x2C;
    constexpr std::uint8_t kEndMark = 0x3B;
    constexpr std::size_t kFrameDescriptor = 9;
    const auto skip = [&left](std::size_t n) {
        if (n > left.size()) return false;
        left = left.subspan(n);
        return true;
    };
    const auto skip_blocks = [&] {
        while (!left.empty()) {
            const std::size_t length = left[0];
            if (!skip(1 + length)) return false;
            if (length == 0) return true;
        }
        return false;
    };
    while (!left.empty()) {
        const std::uint8_t kind = left[0];
        if (kind == kEndMark) return true;
        if (kind == kExtension) {
            if (!skip(2) || !skip_blocks()) return false;
        } else if (kind == kFrame && left.size() > kFrameDescriptor) {
            const std::size_t table = colour_table_bytes(left[kFrameDescriptor]);
            if (!skip(1 + kFrameDescriptor + table + 1) || !skip_blocks()) return false;
        } else {
            return false;
        }
    }
    return false;
}

}  // namespace

Result<StoredHeader> read_gif_header(Bytes bytes, const ImageLimits& /*limits*/, Work& work) {
    Source source{bytes, &work};
    int error = 0;
    GifFileType* gif = DGifOpen(&source, read_bytes, &error);
    if (gif == nullptr) return work.is_stopped() ? work.status() : damaged(error);
    const Close close{gif};
    return StoredHeader{static_cast<std::uint64_t>(std::max(gif->SWidth, 0)),
                        static_cast<std::uint64_t>(std::max(gif->SHeight, 0)), 1};
}

Result<Image> decode_gif(Bytes bytes, const ImageLimits& limits, Work& work) {
    Source source{bytes, &work};
    int error = 0;
    GifFileType* gif = DGifOpen(&source, read_bytes, &error);
    if (gif == nullptr) return work.is_stopped() ? work.status() : damaged(error);
    const Close close{gif};
    CLASP_RETURN_IF_ERROR(check_size(static_cast<std::uint64_t>(std::max(gif->SWidth, 0)),
                                     static_cast<std::uint64_t>(std::max(gif->SHeight, 0)), limits));
    int transparent = NO_TRANSPARENT_COLOR;
    const Status found = find_frame(gif, work, transparent);
    const bool has_frame = found.ok() && DGifGetImageDesc(gif) == GIF_OK;
    CLASP_RETURN_IF_ERROR(work.status());
    CLASP_RETURN_IF_ERROR(found);
    if (!has_frame) return damaged(gif->Error);
    CLASP_RETURN_IF_ERROR(check_frame(*gif, limits));
    CLASP_RETURN_IF_ERROR(check_codes(bytes, bytes.size() - source.left.size(), limits, work));
    const ColorMapObject* map = gif->Image.ColorMap != nullptr ? gif->Image.ColorMap : gif->SColorMap;
    if (map == nullptr) return Status(Code::Corrupt, "the first frame of the GIF file has no colours");
    const GifPalette palette = read_palette(*map);
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(static_cast<std::uint64_t>(gif->SWidth),
                                                   static_cast<std::uint64_t>(gif->SHeight), kMissingPixel));
    image.format = ImageFormat::Gif;
    const GifImageDesc frame = gif->Image;
    const bool covers_canvas =
        frame.Left == 0 && frame.Top == 0 && frame.Width >= gif->SWidth && frame.Height >= gif->SHeight;
    // Around a small frame Pillow shows the transparent colour if there is one, else colour 0.
    if (!covers_canvas) fill(image, palette, std::max(transparent, 0));
    const int n_read = paint_frame(gif, palette, image, work);
    CLASP_RETURN_IF_ERROR(work.status());
    if (n_read == 0) return damaged(gif->Error);
    if (n_read < frame.Height) {
        image.is_partial = true;
        image.warnings.push_back("the GIF file is damaged or ends early: only " + std::to_string(n_read) +
                                 " of " + std::to_string(frame.Height) +
                                 " rows of its first frame could be read");
    } else if (!reaches_end_mark(source.left)) {
        image.warnings.emplace_back(
            "the GIF file is damaged or ends early after its first frame, which is whole");
    }
    if (frame.Left + frame.Width > gif->SWidth || frame.Top + frame.Height > gif->SHeight) {
        image.warnings.emplace_back("the first frame of the GIF file sticks out of its canvas and was cut");
    }
    return image;
}

}  // namespace clasp::image
