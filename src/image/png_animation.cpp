// All frames of an animated PNG picture. libpng knows still pictures alone, so that the data of each frame is
// made into a PNG picture of its own, and frames are put together here.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "image/animation.h"
#include "image/byte_reader.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr std::size_t kPngSignature = 8;
constexpr std::size_t kChunkAround = 12;     // length, name and checksum
constexpr std::uint32_t kIhdr = 0x49484452;  // size and kind of samples
constexpr std::uint32_t kIdat = 0x49444154;  // pixels of the picture that others see
constexpr std::uint32_t kIend = 0x49454E44;
constexpr std::uint32_t kActl = 0x6163544C;  // how many frames
constexpr std::uint32_t kFctl = 0x6663544C;  // where a frame lies
constexpr std::uint32_t kFdat = 0x66644154;  // pixels of a frame, behind a number
constexpr std::uint32_t kPlte = 0x504C5445;
constexpr std::uint32_t kTrns = 0x74524E53;
constexpr std::size_t kFctlBytes = 26;
constexpr std::uint8_t kDisposeBackground = 1;
constexpr std::uint8_t kDisposePrevious = 2;

struct PngFrame {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t left = 0;
    std::uint32_t top = 0;
    double seconds = 0.0;
    std::uint8_t disposal = 0;
    bool is_blended = false;  // over what is there, instead of taking its place
    std::vector<Bytes> data;  // what IDAT would hold
};

struct PngParts {
    Bytes header;                // of IHDR, 13 bytes
    std::vector<Bytes> colours;  // chunks PLTE and tRNS, whole
    std::vector<PngFrame> frames;
    bool is_cut = false;
    [[nodiscard]] std::uint32_t width() const { return *ByteReader(header, ByteOrder::Big).u32(0); }
    [[nodiscard]] std::uint32_t height() const { return *ByteReader(header, ByteOrder::Big).u32(4); }
};

PngFrame read_frame_control(Bytes data) {
    const ByteReader reader(data, ByteOrder::Big);
    PngFrame frame;
    frame.width = *reader.u32(4);
    frame.height = *reader.u32(8);
    frame.left = *reader.u32(12);
    frame.top = *reader.u32(16);
    const std::uint16_t parts = *reader.u16(22);
    frame.seconds = static_cast<double>(*reader.u16(20)) / (parts == 0 ? 100.0 : static_cast<double>(parts));
    frame.disposal = data[24];
    frame.is_blended = data[25] == 1;
    return frame;
}

Status png_damaged(const std::string& reason) {
    return {Code::Corrupt, "the PNG animation cannot be decoded: " + reason};
}

// Walks the chunks. Frames without data, as a file that ends early has one, are left out.
Result<PngParts> read_parts(Bytes bytes, const ImageLimits& limits, Work& work) {
    const ByteReader reader(bytes, ByteOrder::Big);
    PngParts parts;
    bool is_animated = false;
    bool has_end = false;
    for (std::size_t at = kPngSignature; !has_end;) {
        if (!work.spend(kMarkerWork)) return work.status();
        const auto length = reader.u32(at);
        const auto name = reader.u32(at + 4);
        if (!name || *length > bytes.size() - at - 8 || bytes.size() - at - 8 - *length < 4) break;
        const Bytes data = bytes.subspan(at + 8, *length);
        if (*name == kIhdr && data.size() == 13 && parts.header.empty()) parts.header = data;
        if (*name == kActl && data.size() == 8) is_animated = true;
        if (*name == kPlte || *name == kTrns)
            parts.colours.push_back(bytes.subspan(at, kChunkAround + *length));
        if (*name == kFctl) {
            if (data.size() != kFctlBytes) return png_damaged("a frame does not say where it lies");
            if (parts.frames.size() > kMaxAnimationFrames) break;
            parts.frames.push_back(read_frame_control(data));
        }
        if (!parts.frames.empty() && *name == kIdat) parts.frames.back().data.push_back(data);
        if (!parts.frames.empty() && *name == kFdat && data.size() >= 4) {
            parts.frames.back().data.push_back(data.subspan(4));
        }
        has_end = *name == kIend;
        at += kChunkAround + data.size();
    }
    if (parts.header.empty()) return png_damaged("it states no size");
    CLASP_RETURN_IF_ERROR(check_size(parts.width(), parts.height(), limits));
    if (!is_animated) parts.frames.clear();
    parts.is_cut = !has_end;
    // The last frame of a file that ends early lacks data.
    if (parts.is_cut && !parts.frames.empty()) parts.frames.pop_back();
    std::erase_if(parts.frames, [](const PngFrame& frame) { return frame.data.empty(); });
    for (const PngFrame& frame : parts.frames) {
        if (frame.width == 0 || frame.height == 0 || frame.width > parts.width() ||
            frame.height > parts.height() || frame.left > parts.width() - frame.width ||
            frame.top > parts.height() - frame.height) {
            return png_damaged("a frame lies outside the canvas");
        }
    }
    return parts;
}

std::uint32_t png_checksum(Bytes bytes) {
    constexpr std::uint32_t kPolynomial = 0xEDB88320;
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit)
                value = (value & 1U) != 0 ? kPolynomial ^ (value >> 1) : value >> 1;
            made[i] = value;
        }
        return made;
    }();
    std::uint32_t sum = 0xFFFFFFFF;
    for (const std::uint8_t byte : bytes) sum = table[(sum ^ byte) & 0xFFU] ^ (sum >> 8);
    return ~sum;
}

void append_u32(std::vector<std::uint8_t>& out, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(value >> shift));
}

void append_chunk(std::vector<std::uint8_t>& out, std::uint32_t name, Bytes data) {
    append_u32(out, static_cast<std::uint32_t>(data.size()));
    const std::size_t begin = out.size();
    append_u32(out, name);
    out.insert(out.end(), data.begin(), data.end());
    append_u32(out, png_checksum(Bytes(out).subspan(begin)));
}

// A frame as a picture of its own.
std::vector<std::uint8_t> still_picture(const PngParts& parts, const PngFrame& frame) {
    constexpr std::array<std::uint8_t, kPngSignature> kMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    std::vector<std::uint8_t> out(kMagic.begin(), kMagic.end());
    std::vector<std::uint8_t> header;
    append_u32(header, frame.width);
    append_u32(header, frame.height);
    header.insert(header.end(), parts.header.begin() + 8, parts.header.end());
    append_chunk(out, kIhdr, header);
    for (const Bytes chunk : parts.colours) out.insert(out.end(), chunk.begin(), chunk.end());
    for (const Bytes data : frame.data) append_chunk(out, kIdat, data);
    append_chunk(out, kIend, {});
    return out;
}

// Lays a colour over another; both with alpha, neither multiplied by it.
void blend(const std::uint8_t* over, std::uint8_t* under) {
    const unsigned a = over[3];
    if (a == 0) return;
    if (a == 255 || under[3] == 0) {
        std::copy_n(over, 4, under);
        return;
    }
    const unsigned rest = under[3] * (255 - a);  // times 255
    const unsigned all = a * 255 + rest;         // times 255
    for (int i = 0; i < 3; ++i) {
        under[i] = static_cast<std::uint8_t>((over[i] * a * 255 + under[i] * rest + all / 2) / all);
    }
    under[3] = static_cast<std::uint8_t>((all + 127) / 255);
}

// The rows of a frame on the canvas.
template <typename Change>
void for_frame_rows(RgbaPicture& canvas, const PngFrame& frame, const Change& change) {
    for (std::size_t y = 0; y < frame.height; ++y) {
        change(canvas.rgba.data() + ((frame.top + y) * canvas.width + frame.left) * 4, y);
    }
}

}  // namespace

Result<Animation> read_png_animation(Bytes bytes, const ImageLimits& limits, Work& work) {
    CLASP_ASSIGN_OR_RETURN(const PngParts parts, read_parts(bytes, limits, work));
    Animation animation;
    animation.size = {static_cast<int>(parts.width()), static_cast<int>(parts.height())};
    for (const PngFrame& frame : parts.frames) animation.seconds.push_back(frame.seconds);
    animation.is_cut = parts.is_cut;
    if (animation.seconds.empty()) return Status(Code::Unsupported, "the PNG picture does not move");
    return animation;
}

Status decode_png_animation(Bytes bytes, const ImageLimits& limits, Work& work, std::size_t n_frames,
                            const FrameSink& sink) {
    CLASP_ASSIGN_OR_RETURN(const PngParts parts, read_parts(bytes, limits, work));
    if (n_frames > parts.frames.size()) {
        return png_damaged("it has only " + std::to_string(parts.frames.size()) + " whole frames");
    }
    CLASP_ASSIGN_OR_RETURN(Image shown, make_image(parts.width(), parts.height(), 0));
    shown.format = ImageFormat::Png;
    ImageLimits frame_limits = limits;  // a frame may be a single pixel of a large canvas
    frame_limits.min_side = 1;
    frame_limits.max_aspect_ratio = static_cast<double>(limits.max_side);
    RgbaPicture canvas = {parts.width(), parts.height(), {}};
    canvas.rgba.assign(canvas.width * canvas.height * 4, 0);
    for (std::size_t i = 0; i < n_frames; ++i) {
        const PngFrame& frame = parts.frames[i];
        CLASP_ASSIGN_OR_RETURN(const RgbaPicture picture,
                               decode_png_rgba(still_picture(parts, frame), frame_limits, work));
        RgbaPicture before;
        if (frame.disposal == kDisposePrevious) before = canvas;
        const std::size_t row_bytes = std::size_t{frame.width} * 4;
        for_frame_rows(canvas, frame, [&](std::uint8_t* row, std::size_t y) {
            const std::uint8_t* from = picture.rgba.data() + y * row_bytes;
            if (!frame.is_blended) std::copy_n(from, row_bytes, row);
            for (std::size_t at = 0; frame.is_blended && at < row_bytes; at += 4) blend(from + at, row + at);
        });
        for (std::size_t pixel = 0; pixel < canvas.width * canvas.height; ++pixel) {
            std::copy_n(canvas.rgba.data() + 4 * pixel, 3, shown.rgb.data() + 3 * pixel);
        }
        if (!work.spend(canvas.rgba.size())) return work.status();
        if (!sink(i, shown)) return ok_status();
        if (frame.disposal == kDisposeBackground || (frame.disposal == kDisposePrevious && i == 0)) {
            for_frame_rows(canvas, frame, [&](std::uint8_t* row, std::size_t) {
                std::fill_n(row, row_bytes, std::uint8_t{0});
            });
        } else if (frame.disposal == kDisposePrevious) {
            canvas = std::move(before);
        }
    }
    return ok_status();
}

}  // namespace clasp::image
