// The first frame of a GIF through giflib, painted on its canvas.
#include <algorithm>
#include <cstddef>
#include <string>

#include "image/decoders.h"
#include "image/gif_reader.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

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
            const std::size_t table = gif_table_bytes(left[kFrameDescriptor]);
            if (!skip(1 + kFrameDescriptor + table + 1) || !skip_blocks()) return false;
        } else {
            return false;
        }
    }
    return false;
}

}  // namespace

Result<StoredHeader> read_gif_header(Bytes bytes, const ImageLimits& /*limits*/, Work& work) {
    GifSource source{bytes, &work};
    CLASP_ASSIGN_OR_RETURN(const GifFile gif, open_gif(source));
    return StoredHeader{static_cast<std::uint64_t>(std::max(gif->SWidth, 0)),
                        static_cast<std::uint64_t>(std::max(gif->SHeight, 0)), 1};
}

Result<Image> decode_gif(Bytes bytes, const ImageLimits& limits, Work& work) {
    GifSource source{bytes, &work};
    CLASP_ASSIGN_OR_RETURN(const GifFile gif, open_gif(source));
    CLASP_RETURN_IF_ERROR(check_size(static_cast<std::uint64_t>(std::max(gif->SWidth, 0)),
                                     static_cast<std::uint64_t>(std::max(gif->SHeight, 0)), limits));
    GifFrame said;
    const auto found = next_gif_frame(gif.get(), work, said);
    CLASP_RETURN_IF_ERROR(work.status());
    if (!found.ok()) return found.status();
    if (!*found) return Status(Code::Corrupt, "the GIF file holds no frame");
    CLASP_RETURN_IF_ERROR(check_gif_frame(*gif, limits, "first"));
    CLASP_RETURN_IF_ERROR(check_gif_codes(bytes, bytes.size() - source.left.size(), limits, work));
    CLASP_ASSIGN_OR_RETURN(const GifPalette palette, frame_palette(*gif, "first"));
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(static_cast<std::uint64_t>(gif->SWidth),
                                                   static_cast<std::uint64_t>(gif->SHeight), kMissingPixel));
    image.format = ImageFormat::Gif;
    const GifImageDesc frame = gif->Image;
    const bool covers_canvas =
        frame.Left == 0 && frame.Top == 0 && frame.Width >= gif->SWidth && frame.Height >= gif->SHeight;
    // Around a small frame Pillow shows the transparent colour if there is one, else colour 0.
    if (!covers_canvas) fill_gif(image, palette, std::max(said.transparent, 0));
    const int n_read = paint_gif_frame(gif.get(), palette, NO_TRANSPARENT_COLOR, image, work);
    CLASP_RETURN_IF_ERROR(work.status());
    if (n_read == 0) return gif_damaged(gif->Error);
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
