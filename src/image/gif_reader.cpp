#include "image/gif_reader.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "image/gif_codes.h"

namespace clasp::image {

namespace {

// What forgetting giflib's table of codes costs.
constexpr std::uint64_t kClearCodeWork = 512;

int read_gif_bytes(GifFileType* gif, GifByteType* out, int count) {
    auto* source = static_cast<GifSource*>(gif->UserData);
    const std::size_t n = std::min(source->left.size(), static_cast<std::size_t>(std::max(count, 0)));
    if (n == 0 || !source->work->spend(n * kPackedByteWork)) return 0;
    std::memcpy(out, source->left.data(), n);
    source->left = source->left.subspan(n);
    return static_cast<int>(n);
}

}  // namespace

Status gif_damaged(int error) {
    const bool is_cut = error == D_GIF_ERR_READ_FAILED || error == D_GIF_ERR_EOF_TOO_SOON;
    const char* reason = is_cut ? "the file ends early" : GifErrorString(error);
    return {Code::Corrupt, std::string("the GIF picture cannot be decoded: ") +
                               (reason != nullptr ? reason : "unknown reason")};
}

Result<GifFile> open_gif(GifSource& source) {
    int error = 0;
    GifFile gif(DGifOpen(&source, read_gif_bytes, &error));
    if (gif == nullptr) return source.work->is_stopped() ? source.work->status() : gif_damaged(error);
    return gif;
}

Result<bool> next_gif_frame(GifFileType* gif, Work& work, GifFrame& frame) {
    frame = {};
    for (;;) {
        GifRecordType type = UNDEFINED_RECORD_TYPE;
        if (!work.spend(kMarkerWork)) return work.status();
        if (DGifGetRecordType(gif, &type) == GIF_ERROR) return gif_damaged(gif->Error);
        if (type == IMAGE_DESC_RECORD_TYPE) {
            if (DGifGetImageDesc(gif) == GIF_ERROR) return gif_damaged(gif->Error);
            return true;
        }
        if (type == TERMINATE_RECORD_TYPE) return false;
        if (type != EXTENSION_RECORD_TYPE) continue;
        int code = 0;
        GifByteType* block = nullptr;
        if (DGifGetExtension(gif, &code, &block) == GIF_ERROR) return gif_damaged(gif->Error);
        while (block != nullptr) {
            GraphicsControlBlock control{};
            if (code == GRAPHICS_EXT_FUNC_CODE &&
                DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
                frame = {control.TransparentColor, control.DisposalMode, control.DelayTime};
            }
            if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return gif_damaged(gif->Error);
        }
    }
}

Status check_gif_frame(const GifFileType& gif, const ImageLimits& limits, const char* which) {
    const GifImageDesc& frame = gif.Image;
    const std::string name = "the " + std::string(which) + " frame of the GIF file";
    if (frame.Width <= 0 || frame.Height <= 0) return {Code::Corrupt, name + " has no pixels"};
    if (frame.Left < 0 || frame.Top < 0 || frame.Left >= gif.SWidth || frame.Top >= gif.SHeight) {
        return {Code::Corrupt, name + " lies outside its canvas"};
    }
    const auto pixels = static_cast<std::size_t>(frame.Width) * static_cast<std::size_t>(frame.Height);
    if (pixels > limits.max_pixels) {
        return {Code::TooLarge, name + ", " + std::to_string(frame.Width) + " x " +
                                    std::to_string(frame.Height) + ", exceeds the limit of " +
                                    std::to_string(limits.max_pixels) + " pixels"};
    }
    return ok_status();
}

Status check_gif_codes(Bytes bytes, std::size_t at, const ImageLimits& limits, Work& work) {
    const std::size_t enough = limits.max_work / kClearCodeWork + 1;
    const std::size_t n_clear = count_clear_codes(bytes.subspan(at), bytes[at - 1], enough);
    return work.spend(n_clear * kClearCodeWork) ? ok_status() : work.status();
}

std::vector<int> stored_gif_rows(int height, bool is_interlaced) {
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

Result<GifPalette> frame_palette(const GifFileType& gif, const char* which) {
    const ColorMapObject* map = gif.Image.ColorMap != nullptr ? gif.Image.ColorMap : gif.SColorMap;
    if (map == nullptr) {
        return Status(Code::Corrupt, "the " + std::string(which) + " frame of the GIF file has no colours");
    }
    GifPalette palette{};
    const int n = std::clamp(map->ColorCount, 0, 256);
    for (int i = 0; i < n; ++i) {
        const GifColorType& colour = map->Colors[i];
        const auto at = static_cast<std::size_t>(i) * 3;
        palette[at] = colour.Red;
        palette[at + 1] = colour.Green;
        palette[at + 2] = colour.Blue;
    }
    return palette;
}

int paint_gif_frame(GifFileType* gif, const GifPalette& palette, int transparent, Image& image, Work& work) {
    const GifImageDesc frame = gif->Image;
    std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
    const int visible = std::min(frame.Width, image.width - frame.Left);
    int n_read = 0;
    for (const int y : stored_gif_rows(frame.Height, frame.Interlace)) {
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
            if (static_cast<int>(index) == transparent) continue;
            std::copy_n(palette.data() + index * 3, 3, out + static_cast<std::size_t>(x) * 3);
        }
    }
    return n_read;
}

void fill_gif(Image& image, const GifPalette& palette, int index) {
    const std::uint8_t* colour = palette.data() + static_cast<std::size_t>(index & 0xFF) * 3;
    for (std::size_t i = 0; i < image.rgb.size(); i += 3) std::copy_n(colour, 3, image.rgb.data() + i);
}

std::size_t gif_table_bytes(std::uint8_t flags) {
    return (flags & 0x80U) == 0 ? 0 : std::size_t{3} << ((flags & 7U) + 1);
}

}  // namespace clasp::image
