#include "support/image_bombs.h"

#include <webp/encode.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <jpeglib.h>

namespace clasp::test {

namespace {

void put_little(PictureBytes& out, std::uint32_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_big(PictureBytes& out, std::uint32_t value) {
    for (int i = 3; i >= 0; --i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void append(PictureBytes& out, const PictureBytes& more) {
    out.insert(out.end(), more.begin(), more.end());
}

void put_chunk(PictureBytes& out, const char* name, const PictureBytes& data) {
    put_big(out, static_cast<std::uint32_t>(data.size()));
    const std::size_t start = out.size();
    out.insert(out.end(), name, name + 4);
    append(out, data);
    const uLong crc = ::crc32(0, out.data() + start, static_cast<uInt>(out.size() - start));
    put_big(out, static_cast<std::uint32_t>(crc));
}

// A zlib stream of n zero bytes.
PictureBytes packed_zeros(std::size_t n) {
    z_stream stream{};
    if (deflateInit(&stream, Z_BEST_SPEED) != Z_OK) std::abort();
    std::vector<std::uint8_t> zeros(std::size_t{1} << 20);
    PictureBytes out;
    std::array<std::uint8_t, 1 << 16> block{};
    int result = Z_OK;
    while (result != Z_STREAM_END) {
        if (stream.avail_in == 0) {
            stream.next_in = zeros.data();
            stream.avail_in = static_cast<uInt>(std::min(n, zeros.size()));
            n -= stream.avail_in;
        }
        stream.next_out = block.data();
        stream.avail_out = static_cast<uInt>(block.size());
        result = deflate(&stream, n == 0 ? Z_FINISH : Z_NO_FLUSH);
        out.insert(out.end(), block.begin(), block.end() - stream.avail_out);
    }
    deflateEnd(&stream);
    return out;
}

// Bytes of the rows with their filter bytes, all passes.
std::size_t png_data_bytes(const FlatPng& spec) {
    const std::size_t pixel = spec.bits / 8U * 4U;
    if (!spec.is_interlaced) return spec.height * (1 + spec.width * pixel);
    struct Pass {
        std::size_t x, y, dx, dy;
    };
    constexpr std::array<Pass, 7> kPasses = {
        {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
    std::size_t total = 0;
    for (const Pass& pass : kPasses) {
        const std::size_t columns = (spec.width + pass.dx - 1 - pass.x) / pass.dx;
        const std::size_t rows = (spec.height + pass.dy - 1 - pass.y) / pass.dy;
        if (columns > 0) total += rows * (1 + columns * pixel);
    }
    return total;
}

PictureBytes gif_head(std::uint16_t width, std::uint16_t height) {
    PictureBytes out;
    for (const char c : std::string_view("GIF89a")) out.push_back(static_cast<std::uint8_t>(c));
    put_little(out, width, 2);
    put_little(out, height, 2);
    out.insert(out.end(), {0x81, 0, 0});  // four colours
    for (std::uint8_t i = 0; i < 12; ++i) out.push_back(static_cast<std::uint8_t>(20 * i));
    return out;
}

// A frame over the whole canvas whose data is codes of three bits.
void put_frame(PictureBytes& out, std::uint16_t width, std::uint16_t height,
               const std::vector<unsigned>& codes) {
    out.push_back(0x2C);
    put_little(out, 0, 4);
    put_little(out, width, 2);
    put_little(out, height, 2);
    out.push_back(0);
    out.push_back(2);  // bits of a symbol
    PictureBytes packed;
    unsigned held = 0;
    unsigned n_held = 0;
    for (const unsigned code : codes) {
        held |= code << n_held;
        n_held += 3;
        for (; n_held >= 8; n_held -= 8, held >>= 8) packed.push_back(static_cast<std::uint8_t>(held));
    }
    packed.push_back(static_cast<std::uint8_t>(held));
    for (std::size_t at = 0; at < packed.size(); at += 255) {
        const std::size_t n = std::min<std::size_t>(255, packed.size() - at);
        out.push_back(static_cast<std::uint8_t>(n));
        out.insert(out.end(), packed.begin() + static_cast<std::ptrdiff_t>(at),
                   packed.begin() + static_cast<std::ptrdiff_t>(at + n));
    }
    out.push_back(0);
    out.push_back(0x3B);
}

PictureBytes rle8_head(std::uint32_t width, std::uint32_t height) {
    PictureBytes out = {'B', 'M'};
    for (const std::uint32_t field : {0U, 0U, 62U, 40U, width, height}) put_little(out, field, 4);
    put_little(out, 1, 2);
    put_little(out, 8, 2);
    for (const std::uint32_t field : {1U, 0U, 0U, 0U, 2U, 0U}) put_little(out, field, 4);
    put_little(out, 0x00FFFFFF, 4);
    put_little(out, 0x00336699, 4);
    return out;
}

}  // namespace

PictureBytes flat_jpeg(const FlatJpeg& spec) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* buffer = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &buffer, &size);
    info.image_width = spec.width;
    info.image_height = spec.height;
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    for (int i = 0; i < 3; ++i) info.comp_info[i].h_samp_factor = info.comp_info[i].v_samp_factor = 1;
    info.arith_code = spec.is_arithmetic ? TRUE : FALSE;
    info.restart_interval = spec.restart_interval;
    if (spec.is_progressive) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    std::vector<JSAMPLE> row(std::size_t{spec.width} * 3, 90);
    JSAMPLE* rows = row.data();
    while (info.next_scanline < info.image_height) jpeg_write_scanlines(&info, &rows, 1);
    jpeg_finish_compress(&info);
    PictureBytes out(buffer, buffer + size);
    jpeg_destroy_compress(&info);
    std::free(buffer);
    return out;
}

PictureBytes with_markers(const PictureBytes& jpeg, std::uint8_t marker, std::size_t n, std::size_t payload) {
    PictureBytes out(jpeg.begin(), jpeg.begin() + 2);
    out.reserve(jpeg.size() + n * (4 + payload));
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t length = payload + 2;
        out.push_back(0xFF);
        out.push_back(marker);
        out.push_back(static_cast<std::uint8_t>(length >> 8));
        out.push_back(static_cast<std::uint8_t>(length));
        out.resize(out.size() + payload);
    }
    out.insert(out.end(), jpeg.begin() + 2, jpeg.end());
    return out;
}

PictureBytes with_more_scans(const PictureBytes& jpeg, std::size_t n) {
    constexpr std::array<std::uint8_t, 2> kScan = {0xFF, 0xDA};
    const auto last = std::find_end(jpeg.begin(), jpeg.end(), kScan.begin(), kScan.end());
    const PictureBytes scan(last, jpeg.end() - 2);
    PictureBytes out(jpeg.begin(), jpeg.end() - 2);
    for (std::size_t i = 0; i < n; ++i) append(out, scan);
    out.insert(out.end(), jpeg.end() - 2, jpeg.end());
    return out;
}

PictureBytes flat_png(const FlatPng& spec) {
    PictureBytes out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    PictureBytes header;
    put_big(header, spec.width);
    put_big(header, spec.height);
    const std::uint8_t interlace = spec.is_interlaced ? 1 : 0;
    header.insert(header.end(), {spec.bits, 6, 0, 0, interlace});
    put_chunk(out, "IHDR", header);
    put_chunk(out, "IDAT", packed_zeros(png_data_bytes(spec) + spec.leftover_bytes));
    put_chunk(out, "IEND", {});
    return out;
}

PictureBytes with_chunks(const PictureBytes& png, const char* name, std::size_t n, std::size_t payload) {
    constexpr std::ptrdiff_t kHeader = 8 + 25;
    PictureBytes out(png.begin(), png.begin() + kHeader);
    PictureBytes chunk;
    put_chunk(chunk, name, PictureBytes(payload));
    out.reserve(png.size() + n * chunk.size());
    for (std::size_t i = 0; i < n; ++i) append(out, chunk);
    out.insert(out.end(), png.begin() + kHeader, png.end());
    return out;
}

PictureBytes gif_of_clear_codes(std::uint16_t width, std::uint16_t height, std::size_t n) {
    PictureBytes out = gif_head(width, height);
    put_frame(out, width, height, std::vector<unsigned>(n, 4));
    return out;
}

PictureBytes flat_gif(std::uint16_t width, std::uint16_t height) {
    // A clear code before every second pixel keeps codes at three bits.
    std::vector<unsigned> codes;
    for (std::size_t i = 0; i < std::size_t{width} * height; ++i) {
        if (i % 2 == 0) codes.push_back(4);
        codes.push_back(1);
    }
    codes.push_back(5);
    PictureBytes out = gif_head(width, height);
    put_frame(out, width, height, codes);
    return out;
}

PictureBytes with_comments(const PictureBytes& gif, std::size_t n) {
    constexpr std::ptrdiff_t kHead = 13 + 12;
    PictureBytes out(gif.begin(), gif.begin() + kHead);
    for (std::size_t i = 0; i < n; ++i) {
        out.insert(out.end(), {0x21, 0xFE, 1, 'x', 0});
    }
    out.insert(out.end(), gif.begin() + kHead, gif.end());
    return out;
}

PictureBytes bmp_of_runs(std::uint32_t width, std::uint32_t height, std::size_t n) {
    PictureBytes out = rle8_head(width, height);
    for (std::size_t i = 0; i < n; ++i) {
        out.push_back(255);
        out.push_back(1);
    }
    out.push_back(0);
    out.push_back(1);
    return out;
}

PictureBytes bmp_of_moves(std::uint32_t width, std::uint32_t height, std::size_t n) {
    PictureBytes out = rle8_head(width, height);
    for (std::size_t i = 0; i < n; ++i) {
        out.insert(out.end(), {0, 2, 0, 0});
    }
    out.push_back(0);
    out.push_back(1);
    return out;
}

PictureBytes flat_webp(int width, int height) {
    const std::vector<std::uint8_t> rgb(
        static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3, 90);
    std::uint8_t* packed = nullptr;
    const std::size_t size = WebPEncodeLosslessRGB(rgb.data(), width, height, width * 3, &packed);
    PictureBytes out(packed, packed + size);
    WebPFree(packed);
    return out;
}

PictureBytes with_riff_chunks(const PictureBytes& webp, std::size_t n) {
    PictureBytes out(webp.begin(), webp.begin() + 12);
    // The picture's size stands in the lossless header: 14 bits each, less one.
    const std::uint32_t bits = std::uint32_t{webp[21]} | std::uint32_t{webp[22]} << 8 |
                               std::uint32_t{webp[23]} << 16 | std::uint32_t{webp[24]} << 24;
    out.insert(out.end(), {'V', 'P', '8', 'X'});
    put_little(out, 10, 4);
    put_little(out, 0, 4);
    put_little(out, bits & 0x3FFFU, 3);
    put_little(out, (bits >> 14) & 0x3FFFU, 3);
    out.reserve(out.size() + webp.size() + n * 8);
    for (std::size_t i = 0; i < n; ++i) {
        out.insert(out.end(), {'j', 'u', 'n', 'k'});
        put_little(out, 0, 4);
    }
    out.insert(out.end(), webp.begin() + 12, webp.end());
    const auto size = static_cast<std::uint32_t>(out.size() - 8);
    for (std::size_t i = 0; i < 4; ++i) out[4 + i] = static_cast<std::uint8_t>(size >> (8 * i));
    return out;
}

}  // namespace clasp::test
