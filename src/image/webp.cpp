// WebP through libwebp: a still picture, or the first frame of an animation on its canvas.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <webp/decode.h>
#include <webp/demux.h>

#include "image/decoders.h"
#include "image/exif.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

struct DeleteDemuxer {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

struct Frame {
    WebPIterator iterator{};
    ~Frame() { WebPDemuxReleaseIterator(&iterator); }
};

Status damaged(const char* reason) {
    return {Code::Corrupt, std::string("the WebP picture cannot be decoded: ") + reason};
}

const char* reason_of(VP8StatusCode code) {
    switch (code) {
        case VP8_STATUS_OK: return "nothing is wrong";
        case VP8_STATUS_OUT_OF_MEMORY: return "not enough memory";
        case VP8_STATUS_UNSUPPORTED_FEATURE: return "it uses a feature that is not supported";
        case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends early";
        default: return "the data is damaged";
    }
}

int stored_orientation(const WebPDemuxer* demuxer) {
    WebPChunkIterator chunk{};
    int orientation = 1;
    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0) {
        orientation = exif_orientation(strip_exif_prefix(Bytes(chunk.chunk.bytes, chunk.chunk.size)));
    }
    WebPDemuxReleaseChunkIterator(&chunk);
    return orientation;
}

// The container's own size field may promise more than the file holds; that alone is no reason to refuse.
Bytes riff_bytes(Bytes bytes, std::vector<std::uint8_t>& patched, bool& is_long) {
    const std::size_t stated = std::size_t{bytes[4]} | std::size_t{bytes[5]} << 8 |
                               std::size_t{bytes[6]} << 16 | std::size_t{bytes[7]} << 24;
    is_long = stated > bytes.size() - 8;
    if (!is_long) return bytes;
    patched.assign(bytes.begin(), bytes.end());
    const std::size_t actual = (bytes.size() - 8) & ~std::size_t{1};
    for (std::size_t i = 0; i < 4; ++i) patched[4 + i] = static_cast<std::uint8_t>(actual >> (8 * i));
    return patched;
}

// The canvas that an extended header states, judged before the library, which calls absurd ones damaged.
Status check_extended_header(Bytes bytes, const ImageLimits& limits) {
    constexpr std::size_t kCanvasAt = 24;
    constexpr std::array<std::uint8_t, 4> kName = {'V', 'P', '8', 'X'};
    if (bytes.size() < kCanvasAt + 6 || !std::equal(kName.begin(), kName.end(), bytes.begin() + 12)) {
        return ok_status();
    }
    const auto side = [&](std::size_t at) {
        return std::uint64_t{1} + bytes[at] + (std::uint64_t{bytes[at + 1]} << 8) +
               (std::uint64_t{bytes[at + 2]} << 16);
    };
    return check_size(side(kCanvasAt), side(kCanvasAt + 3), limits);
}

// A file taken apart; the bytes must outlive it.
struct Container {
    std::vector<std::uint8_t> patched;
    bool is_long = false;
    std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer;

    [[nodiscard]] std::uint64_t width() const { return WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH); }
    [[nodiscard]] std::uint64_t height() const { return WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT); }
};

Status open_container(Bytes bytes, const ImageLimits& limits, Container& container) {
    CLASP_RETURN_IF_ERROR(check_extended_header(bytes, limits));
    const Bytes riff = riff_bytes(bytes, container.patched, container.is_long);
    const WebPData data{riff.data(), riff.size()};
    WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
    container.demuxer.reset(WebPDemuxPartial(&data, &state));
    return container.demuxer == nullptr ? damaged("the container is damaged") : ok_status();
}

// Over the white that is there, rounded as Pillow rounds.
Status paint_on_white(const WebPIterator& frame, Image& image) {
    const auto width = static_cast<std::size_t>(frame.width);
    std::vector<std::uint8_t> rgba(width * static_cast<std::size_t>(frame.height) * 4);
    if (WebPDecodeRGBAInto(frame.fragment.bytes, frame.fragment.size, rgba.data(), rgba.size(),
                           static_cast<int>(width * 4)) == nullptr) {
        return damaged(reason_of(VP8_STATUS_BITSTREAM_ERROR));
    }
    for (std::size_t i = 0; i < rgba.size() / 4; ++i) {
        const std::size_t x = static_cast<std::size_t>(frame.x_offset) + i % width;
        const std::size_t y = static_cast<std::size_t>(frame.y_offset) + i / width;
        const std::uint32_t alpha = rgba[4 * i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const std::uint32_t sum = rgba[4 * i + c] * alpha + 255U * (255U - alpha) + 128U;
            image.rgb[(y * static_cast<std::size_t>(image.width) + x) * 3 + c] =
                static_cast<std::uint8_t>((sum + (sum >> 8)) >> 8);
        }
    }
    return ok_status();
}

// Black where the frame does not reach, as Pillow shows the dropped alpha of an empty canvas.
Status paint_frame(const WebPIterator& frame, Alpha alpha, Image& image) {
    if (frame.complete == 0) return damaged(reason_of(VP8_STATUS_NOT_ENOUGH_DATA));
    if (frame.x_offset < 0 || frame.y_offset < 0 || frame.width <= 0 || frame.height <= 0 ||
        frame.width > image.width - frame.x_offset || frame.height > image.height - frame.y_offset) {
        return damaged("its first frame lies outside the canvas");
    }
    int width = 0;
    int height = 0;
    if (WebPGetInfo(frame.fragment.bytes, frame.fragment.size, &width, &height) == 0 ||
        width != frame.width || height != frame.height) {
        return damaged("its first frame is not of the size that the container says");
    }
    if (alpha == Alpha::OnWhite && frame.has_alpha != 0) return paint_on_white(frame, image);
    const std::size_t stride = static_cast<std::size_t>(image.width) * 3;
    const std::size_t offset =
        static_cast<std::size_t>(frame.y_offset) * stride + static_cast<std::size_t>(frame.x_offset) * 3;
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) {
        return {Code::Internal, "the WebP library does not match its headers"};
    }
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.rgb.data() + offset;
    config.output.u.RGBA.stride = static_cast<int>(stride);
    config.output.u.RGBA.size = image.rgb.size() - offset;
    const VP8StatusCode code = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_OUT_OF_MEMORY) {
        return {Code::OutOfMemory, "not enough memory to decode the WebP picture"};
    }
    return code == VP8_STATUS_OK ? ok_status() : damaged(reason_of(code));
}

}  // namespace

Result<StoredHeader> read_webp_header(Bytes bytes, const ImageLimits& limits, Work& /*work*/) {
    Container container;
    CLASP_RETURN_IF_ERROR(open_container(bytes, limits, container));
    return StoredHeader{container.width(), container.height(), stored_orientation(container.demuxer.get())};
}

Result<Image> decode_webp(Bytes bytes, const ImageLimits& limits, Work& work, Alpha alpha) {
    Container container;
    CLASP_RETURN_IF_ERROR(open_container(bytes, limits, container));
    const auto& demuxer = container.demuxer;
    const std::uint64_t width = container.width();
    const std::uint64_t height = container.height();
    CLASP_RETURN_IF_ERROR(check_size(width, height, limits));
    Frame frame;
    if (WebPDemuxGetFrame(demuxer.get(), 1, &frame.iterator) == 0) {
        return damaged("the file ends before the first frame");
    }
    // The library decodes in one go.
    if (!work.spend(4 * width * height + bytes.size() * kPackedByteWork)) return work.status();
    const bool is_laid_on_white = alpha == Alpha::OnWhite && frame.iterator.has_alpha != 0;
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(width, height, is_laid_on_white ? 255 : 0));
    image.format = ImageFormat::Webp;
    CLASP_RETURN_IF_ERROR(paint_frame(frame.iterator, alpha, image));
    image.orientation = stored_orientation(demuxer.get());
    if (container.is_long)
        image.warnings.emplace_back("the WebP container says that it is longer than the file");
    return image;
}

}  // namespace clasp::image
