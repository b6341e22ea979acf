// One format on its own, CLASP_FUZZ_FORMAT: its magic is put back whatever the fuzzer makes of it, so that
// every input reaches that decoder.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "check_picture.h"

namespace {

using clasp::ImageFormat;

constexpr ImageFormat kFormat = ImageFormat::CLASP_FUZZ_FORMAT;

struct Magic {
    ImageFormat format;
    std::size_t offset;
    std::string_view bytes;
};

constexpr std::array<Magic, 6> kMagics = {{{ImageFormat::Jpeg, 0, "\xFF\xD8"},
                                           {ImageFormat::Png, 0, "\x89PNG\r\n\x1A\n"},
                                           {ImageFormat::Webp, 0, "RIFF"},
                                           {ImageFormat::Webp, 8, "WEBP"},
                                           {ImageFormat::Gif, 0, "GIF89a"},
                                           {ImageFormat::Bmp, 0, "BM"}}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> bytes(data, data + size);
    bytes.resize(std::max<std::size_t>(size, 18));
    for (const Magic& magic : kMagics) {
        if (magic.format != kFormat) continue;
        std::copy(magic.bytes.begin(), magic.bytes.end(),
                  bytes.begin() + static_cast<std::ptrdiff_t>(magic.offset));
    }
    if (kFormat == ImageFormat::Bmp) {  // a second header of a known size
        constexpr std::array<std::uint8_t, 7> kHeaders = {12, 40, 52, 56, 64, 108, 124};
        if (std::find(kHeaders.begin(), kHeaders.end(), bytes[14]) == kHeaders.end()) {
            bytes[14] = kHeaders[bytes[14] % kHeaders.size()];
        }
        bytes[15] = bytes[16] = bytes[17] = 0;
    }
    if (clasp::sniff_image(bytes) != kFormat) std::abort();
    clasp::fuzz::check_picture(bytes);
    return 0;
}
