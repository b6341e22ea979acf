// All frames of an animated WebP picture through libwebp, which puts them together.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <webp/demux.h>

#include "image/animation.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr double kMillisecond = 0.001;

struct DeleteWebpDemuxer {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
struct DeleteWebpDecoder {
    void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

struct WebpFrame {
    WebPIterator iterator{};
    ~WebpFrame() { WebPDemuxReleaseIterator(&iterator); }
};

Status webp_damaged(const std::string& reason) {
    return {Code::Corrupt, "the WebP animation cannot be decoded: " + reason};
}

}  // namespace

Result<Animation> read_webp_animation(Bytes bytes, const ImageLimits& limits, Work& work) {
    const WebPData data{bytes.data(), bytes.size()};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    const std::unique_ptr<WebPDemuxer, DeleteWebpDemuxer> demuxer(WebPDemuxPartial(&data, &state));
    if (demuxer == nullptr) return webp_damaged("the container is damaged");
    const std::uint64_t width = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH);
    const std::uint64_t height = WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT);
    CLASP_RETURN_IF_ERROR(check_size(width, height, limits));
    Animation animation;
    animation.size = {static_cast<int>(width), static_cast<int>(height)};
    WebpFrame frame;
    int has_frame = WebPDemuxGetFrame(demuxer.get(), 1, &frame.iterator);
    while (has_frame != 0 && frame.iterator.complete != 0) {
        if (!work.spend(kMarkerWork)) return work.status();
        animation.seconds.push_back(std::max(frame.iterator.duration, 0) * kMillisecond);
        if (animation.seconds.size() > kMaxAnimationFrames) break;
        has_frame = WebPDemuxNextFrame(&frame.iterator);
    }
    if (animation.seconds.empty()) return webp_damaged("the file ends before the first frame");
    animation.is_cut = state != WEBP_DEMUX_DONE;
    return animation;
}

// The library wants a whole file; of one that is cut it decodes nothing.
Status decode_webp_animation(Bytes bytes, const ImageLimits& limits, Work& work, std::size_t n_frames,
                             const FrameSink& sink) {
    CLASP_ASSIGN_OR_RETURN(const Animation animation, read_webp_animation(bytes, limits, work));
    if (animation.is_cut) return webp_damaged("the file ends early");
    const auto width = static_cast<std::size_t>(animation.size.width);
    const auto height = static_cast<std::size_t>(animation.size.height);
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0) {
        return {Code::Internal, "the WebP library does not match its headers"};
    }
    options.color_mode = MODE_RGBA;
    options.use_threads = 0;
    const WebPData data{bytes.data(), bytes.size()};
    const std::unique_ptr<WebPAnimDecoder, DeleteWebpDecoder> decoder(WebPAnimDecoderNew(&data, &options));
    if (decoder == nullptr) return webp_damaged("the container is damaged");
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(width, height, 0));
    image.format = ImageFormat::Webp;
    for (std::size_t i = 0; i < n_frames; ++i) {
        // The library decodes a frame in one go; its bytes are part of the file's.
        if (!work.spend(4 * width * height + bytes.size() / animation.seconds.size() * kPackedByteWork)) {
            return work.status();
        }
        std::uint8_t* rgba = nullptr;
        int until_ms = 0;
        if (WebPAnimDecoderGetNext(decoder.get(), &rgba, &until_ms) == 0) {
            return webp_damaged("frame " + std::to_string(i) + " is damaged");
        }
        for (std::size_t pixel = 0; pixel < width * height; ++pixel) {
            std::copy_n(rgba + 4 * pixel, 3, image.rgb.data() + 3 * pixel);
        }
        if (!sink(i, image)) return ok_status();
    }
    return ok_status();
}

}  // namespace clasp::image
