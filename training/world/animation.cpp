#include "world/animation.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace clasp::world {
namespace {

constexpr std::size_t kSignatureBytes = 8;

struct Region {
    int left = 0, top = 0, width = 1, height = 1;
};

// The smallest box around all pixels that differ; one pixel if none does.
Region changed(const Canvas& before, const Canvas& after) {
    const int side = after.side();
    int left = side, right = -1, top = side, bottom = -1;
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const std::ptrdiff_t at = 3 * (static_cast<std::ptrdiff_t>(y) * side + x);
            if (std::equal(after.rgb().begin() + at, after.rgb().begin() + at + 3, before.rgb().begin() + at))
                continue;
            left = std::min(left, x);
            right = std::max(right, x);
            top = std::min(top, y);
            bottom = std::max(bottom, y);
        }
    if (right < 0) return {};
    return {left, top, right - left + 1, bottom - top + 1};
}

void append_number(std::string& out, std::uint32_t value, int bytes = 4) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out += static_cast<char>((value >> shift) & 255U);
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
    append_number(out, static_cast<std::uint32_t>(data.size()));
    const std::string body = std::string(type) + std::string(data);
    out += body;
    append_number(out, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                        static_cast<uInt>(body.size()))));
}

// A region as a PNG file of its own.
Result<std::string> encode_region(const Canvas& canvas, const Region& region) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(region.width);
    image.height = static_cast<png_uint_32>(region.height);
    image.format = PNG_FORMAT_RGB;
    std::string bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
    png_alloc_size_t size = bytes.size();
    const std::uint8_t* first = canvas.rgb().data() + 3 * (region.top * canvas.side() + region.left);
    if (png_image_write_to_memory(&image, bytes.data(), &size, 0, first, 3 * canvas.side(), nullptr) == 0)
        return Status(Code::Internal, std::string("cannot make a frame: ") + image.message);
    bytes.resize(size);
    return bytes;
}

// Calls work(type, data) for every chunk of a PNG file that libpng has just made.
template <typename Work>
void for_chunks(std::string_view png, const Work& work) {
    for (std::size_t at = kSignatureBytes; at + 12 <= png.size();) {
        const std::size_t size = number_at(png, at);
        work(png.substr(at + 4, 4), png.substr(at + 8, size));
        at += size + 12;
    }
}

std::string frame_control(std::uint32_t sequence, const Region& region) {
    std::string data;
    append_number(data, sequence);
    for (const int value : {region.width, region.height, region.left, region.top})
        append_number(data, static_cast<std::uint32_t>(value));
    append_number(data, kFrameMs, 2);
    append_number(data, 1000, 2);
    data += std::string(2, '\0');  // leave the frame standing; replace what it covers
    return data;
}

}  // namespace

Result<std::string> encode_animation(std::span<const Canvas> frames) {
    if (frames.empty()) return Status(Code::InvalidArgument, "an animation needs a frame");
    std::string out;
    std::uint32_t sequence = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const int side = frames[i].side();
        const Region region = i == 0 ? Region{0, 0, side, side} : changed(frames[i - 1], frames[i]);
        CLASP_ASSIGN_OR_RETURN(const std::string png, encode_region(frames[i], region));
        if (i == 0) out = png.substr(0, kSignatureBytes);
        std::string data;
        for_chunks(png, [&](std::string_view type, std::string_view content) {
            if (type == "IDAT") data += content;
            if (i == 0 && type != "IDAT" && type != "IEND") append_chunk(out, type, content);
        });
        if (i == 0) {
            std::string control;
            append_number(control, static_cast<std::uint32_t>(frames.size()));
            append_number(control, 0);
            append_chunk(out, "acTL", control);
        }
        append_chunk(out, "fcTL", frame_control(sequence++, region));
        if (i > 0) {
            std::string numbered;
            append_number(numbered, sequence++);
            data = numbered + data;
        }
        append_chunk(out, i == 0 ? "IDAT" : "fdAT", data);
    }
    append_chunk(out, "IEND", "");
    return out;
}

}  // namespace clasp::world
