#include "image/sniff.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "clasp/image.h"

namespace clasp {

namespace {

bool has_at(std::span<const std::uint8_t> bytes, std::size_t offset, std::string_view magic) {
    return bytes.size() >= offset + magic.size() &&
           std::equal(magic.begin(), magic.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

}  // namespace

std::string_view image_format_name(ImageFormat format) {
    switch (format) {
        case ImageFormat::Jpeg: return "JPEG";
        case ImageFormat::Png: return "PNG";
        case ImageFormat::Webp: return "WebP";
        case ImageFormat::Gif: return "GIF";
        case ImageFormat::Bmp: return "BMP";
        case ImageFormat::Unknown: break;
    }
    return "unknown";
}

ImageFormat sniff_image(std::span<const std::uint8_t> bytes) {
    if (has_at(bytes, 0, "\xFF\xD8")) return ImageFormat::Jpeg;
    if (has_at(bytes, 0, "\x89PNG\r\n\x1A\n")) return ImageFormat::Png;
    if (has_at(bytes, 0, "RIFF") && has_at(bytes, 8, "WEBP")) return ImageFormat::Webp;
    if (has_at(bytes, 0, "GIF87a") || has_at(bytes, 0, "GIF89a")) return ImageFormat::Gif;
    // Two letters are little to go by: the size of the second header must be a known one too.
    if (has_at(bytes, 0, "BM") && bytes.size() >= 18 && bytes[15] == 0 && bytes[16] == 0 && bytes[17] == 0) {
        for (const int size : {12, 40, 52, 56, 64, 108, 124}) {
            if (bytes[14] == size) return ImageFormat::Bmp;
        }
    }
    return ImageFormat::Unknown;
}

namespace image {

std::string describe_foreign(std::span<const std::uint8_t> bytes) {
    if (has_at(bytes, 4, "ftyp")) {
        if (has_at(bytes, 8, "avif") || has_at(bytes, 8, "avis")) return "an AVIF picture";
        if (has_at(bytes, 8, "hei") || has_at(bytes, 8, "mif1")) return "a HEIC picture";
        return "an MP4 video";
    }
    if (has_at(bytes, 0, "\x1A\x45\xDF\xA3")) return "a WebM or Matroska video";
    if (has_at(bytes, 0, "RIFF") && has_at(bytes, 8, "AVI ")) return "an AVI video";
    if (has_at(bytes, 0, std::string_view("II*\0", 4)) || has_at(bytes, 0, std::string_view("MM\0*", 4))) {
        return "a TIFF picture";
    }
    if (has_at(bytes, 0, std::string_view("\0\0\1\0", 4))) return "a Windows icon";
    if (has_at(bytes, 0, "\xFF\x0A") || has_at(bytes, 4, "JXL \r\n\x87\n")) return "a JPEG XL picture";
    if (has_at(bytes, 4, "jP  \r\n\x87\n")) return "a JPEG 2000 picture";
    if (has_at(bytes, 0, "%PDF-")) return "a PDF document";
    if (has_at(bytes, 0, "GGUF")) return "a GGUF model file";
    if (has_at(bytes, 0, "PK\x03\x04")) return "a ZIP archive";
    const auto head = bytes.first(std::min<std::size_t>(bytes.size(), 512));
    const bool is_text = !head.empty() && std::all_of(head.begin(), head.end(), [](std::uint8_t c) {
        return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t';
    });
    return is_text ? "text" : "";
}

}  // namespace image

}  // namespace clasp
