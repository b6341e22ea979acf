// All frames of a GIF through giflib, composed as browsers do.
#include <algorithm>
#include <optional>
#include <string>

#include "image/animation.h"
#include "image/gif_reader.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr double kSecondsPerDelay = 0.01;

// Steps over the compressed rows of the frame under way; false when the bytes end in them.
bool skip_gif_rows(GifFileType* gif) {
    int code_size = 0;
    GifByteType* block = nullptr;
    if (DGifGetCode(gif, &code_size, &block) == GIF_ERROR) return false;
    while (block != nullptr) {
        if (DGifGetCodeNext(gif, &block) == GIF_ERROR) return false;
    }
    return true;
}

// The part of the canvas that a frame covers.
struct GifArea {
    int left = 0;
    int top = 0;
    int right = 0;
    int bottom = 0;
};

GifArea area_of(const GifImageDesc& frame, const Image& canvas) {
    return {frame.Left, frame.Top, std::min(frame.Left + frame.Width, canvas.width),
            std::min(frame.Top + frame.Height, canvas.height)};
}

// Copies an area from a picture of the same size.
void restore(Image& canvas, const Image& from, const GifArea& area) {
    for (int y = area.top; y < area.bottom; ++y) {
        const auto at = (static_cast<std::size_t>(y) * static_cast<std::size_t>(canvas.width) +
                         static_cast<std::size_t>(area.left)) *
                        3;
        const auto n = static_cast<std::size_t>(area.right - area.left) * 3;
        std::copy_n(from.rgb.data() + at, n, canvas.rgb.data() + at);
    }
}

}  // namespace

Result<Animation> read_gif_animation(Bytes bytes, const ImageLimits& limits, Work& work) {
    GifSource source{bytes, &work};
    CLASP_ASSIGN_OR_RETURN(const GifFile gif, open_gif(source));
    CLASP_RETURN_IF_ERROR(check_size(static_cast<std::uint64_t>(std::max(gif->SWidth, 0)),
                                     static_cast<std::uint64_t>(std::max(gif->SHeight, 0)), limits));
    Animation animation;
    animation.size = {gif->SWidth, gif->SHeight};
    while (animation.seconds.size() <= kMaxAnimationFrames) {
        GifFrame frame;
        const auto found = next_gif_frame(gif.get(), work, frame);
        CLASP_RETURN_IF_ERROR(work.status());
        const bool is_whole = found.ok() && (!*found || skip_gif_rows(gif.get()));
        CLASP_RETURN_IF_ERROR(work.status());
        if (!is_whole) {
            if (animation.seconds.empty()) return found.ok() ? gif_damaged(gif->Error) : found.status();
            animation.is_cut = true;
            break;
        }
        if (!*found) break;
        animation.seconds.push_back(frame.delay_cs * kSecondsPerDelay);
    }
    if (animation.seconds.empty()) return Status(Code::Corrupt, "the GIF file holds no frame");
    return animation;
}

Status decode_gif_animation(Bytes bytes, const ImageLimits& limits, Work& work, std::size_t n_frames,
                            const FrameSink& sink) {
    GifSource source{bytes, &work};
    CLASP_ASSIGN_OR_RETURN(const GifFile gif, open_gif(source));
    CLASP_RETURN_IF_ERROR(check_size(static_cast<std::uint64_t>(std::max(gif->SWidth, 0)),
                                     static_cast<std::uint64_t>(std::max(gif->SHeight, 0)), limits));
    std::optional<Image> ground;  // the empty canvas
    Image canvas;
    for (std::size_t i = 0; i < n_frames; ++i) {
        GifFrame said;
        CLASP_ASSIGN_OR_RETURN(const bool has_frame, next_gif_frame(gif.get(), work, said));
        if (!has_frame) return {Code::Corrupt, "the GIF file has only " + std::to_string(i) + " frames"};
        const std::string which = i == 0 ? "first" : std::to_string(i + 1) + ".";
        CLASP_RETURN_IF_ERROR(check_gif_frame(*gif, limits, which.c_str()));
        CLASP_RETURN_IF_ERROR(check_gif_codes(bytes, bytes.size() - source.left.size(), limits, work));
        CLASP_ASSIGN_OR_RETURN(const GifPalette palette, frame_palette(*gif, which.c_str()));
        if (!ground) {
            CLASP_ASSIGN_OR_RETURN(ground, make_image(static_cast<std::uint64_t>(gif->SWidth),
                                                      static_cast<std::uint64_t>(gif->SHeight), 0));
            fill_gif(*ground, palette, std::max(said.transparent, 0));
            canvas = *ground;
            canvas.format = ImageFormat::Gif;
        }
        const GifArea area = area_of(gif->Image, canvas);
        Image before;
        if (said.disposal == DISPOSE_PREVIOUS) before = canvas;
        // Whatever the first frame lets through is its own transparent colour, which is the ground.
        const int n_read = paint_gif_frame(gif.get(), palette, said.transparent, canvas, work);
        CLASP_RETURN_IF_ERROR(work.status());
        if (n_read < gif->Image.Height) return gif_damaged(gif->Error);
        if (!sink(i, canvas)) return ok_status();
        if (said.disposal == DISPOSE_BACKGROUND) restore(canvas, *ground, area);
        if (said.disposal == DISPOSE_PREVIOUS) restore(canvas, before, area);
        if (!work.spend(canvas.rgb.size())) return work.status();
    }
    return ok_status();
}

}  // namespace clasp::image
