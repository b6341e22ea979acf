#include "draw/webp_writer.h"

#include <cstdint>

#include <webp/encode.h>

#include "base/file.h"

namespace clasp::draw {

namespace {

constexpr float kWebpQuality = 90.0F;
constexpr std::size_t kRiffHeader = 12;  // RIFF, length, WEBP
constexpr int kMaxFrameMs = (1 << 24) - 1;

void put_little(std::string& out, std::uint32_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// A chunk; its data is padded to an even length.
void put_webp_chunk(std::string& out, const char* name, const std::string& data) {
    out += name;
    put_little(out, static_cast<std::uint32_t>(data.size()), 4);
    out += data;
    if (data.size() % 2 != 0) out.push_back('\0');
}

// The chunk of a still picture without the container around it.
Result<std::string> still_chunk(const Image& frame, bool is_lossless) {
    std::uint8_t* made = nullptr;
    const int row_bytes = 3 * frame.width;
    const std::size_t n =
        is_lossless
            ? WebPEncodeLosslessRGB(frame.rgb.data(), frame.width, frame.height, row_bytes, &made)
            : WebPEncodeRGB(frame.rgb.data(), frame.width, frame.height, row_bytes, kWebpQuality, &made);
    if (n <= kRiffHeader) {
        WebPFree(made);
        return Status(Code::OutOfMemory, "not enough memory to write the WebP animation");
    }
    std::string chunk(reinterpret_cast<const char*>(made) + kRiffHeader, n - kRiffHeader);
    WebPFree(made);
    return chunk;
}

}  // namespace

Result<std::string> encode_webp_animation(std::span<const Image> frames, int frame_ms, bool is_lossless) {
    if (frames.empty()) return Status(Code::InvalidArgument, "an animation needs at least one frame");
    const Image& first = frames.front();
    if (first.width < 1 || first.height < 1 || first.width > WEBP_MAX_DIMENSION ||
        first.height > WEBP_MAX_DIMENSION || frame_ms < 1 || frame_ms > kMaxFrameMs) {
        return Status(Code::InvalidArgument, "a WebP animation has sides of 1 to " +
                                                 std::to_string(WEBP_MAX_DIMENSION) + " pixels, not " +
                                                 std::to_string(first.width) + " x " +
                                                 std::to_string(first.height));
    }
    const auto put_size = [&](std::string& out) {
        put_little(out, static_cast<std::uint32_t>(first.width) - 1, 3);
        put_little(out, static_cast<std::uint32_t>(first.height) - 1, 3);
    };
    std::string body = "WEBP";
    std::string header = std::string("\x02\0\0\0", 4);  // it moves
    put_size(header);
    put_webp_chunk(body, "VP8X", header);
    put_webp_chunk(body, "ANIM", std::string(6, '\0'));  // black behind it, for ever
    for (const Image& frame : frames) {
        if (frame.width != first.width || frame.height != first.height) {
            return Status(Code::InvalidArgument, "the frames of an animation have one size");
        }
        CLASP_ASSIGN_OR_RETURN(const std::string chunk, still_chunk(frame, is_lossless));
        std::string data(6, '\0');  // at the top left
        put_size(data);
        put_little(data, static_cast<std::uint32_t>(frame_ms), 3);
        data.push_back('\x02');  // takes the place of what was there
        put_webp_chunk(body, "ANMF", data + chunk);
    }
    std::string file = "RIFF";
    put_little(file, static_cast<std::uint32_t>(body.size()), 4);
    return file + body;
}

Status write_webp_animation(std::span<const Image> frames, int frame_ms, const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const std::string bytes, encode_webp_animation(frames, frame_ms));
    return base::write_file_atomic(path, bytes);
}

}  // namespace clasp::draw
