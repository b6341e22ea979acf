// Windows and OS/2 bitmaps: 1, 2, 4, 8 bit with a palette (RLE4 and RLE8 too), 16 and 32 bit with masks,
// 24 bit; bottom-up or top-down.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "image/byte_reader.h"
#include "image/decoders.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::size_t kCoreHeaderBytes = 12;
constexpr std::size_t kInfoHeaderBytes = 40;
constexpr std::size_t kOs2HeaderBytes = 64;

enum Compression : std::uint32_t { kPlain = 0, kRle8 = 1, kRle4 = 2, kMasks = 3, kAlphaMasks = 6 };

struct Header {
    std::size_t bytes = 0;  // of the second header
    std::size_t pixel_offset = 0;
    std::uint64_t width = 0;
    std::uint64_t height = 0;
    bool is_top_down = false;
    unsigned bits = 0;  // per pixel
    std::uint32_t compression = kPlain;
    std::uint32_t n_colours = 0;              // stated; 0 means all that the depth allows
    std::array<std::uint32_t, 3> masks = {};  // red, green, blue
    std::size_t palette_offset = 0;
};

using Palette = std::array<std::array<std::uint8_t, 3>, 256>;

Status damaged(const std::string& reason) {
    return {Code::Corrupt, "the BMP picture cannot be decoded: " + reason};
}

Status unsupported(const std::string& what) {
    return {Code::Unsupported, "a BMP picture with " + what + " is not supported"};
}

Result<Header> read_core_header(const ByteReader& reader, Header header) {
    header.width = *reader.u16(18);
    header.height = *reader.u16(20);
    header.bits = *reader.u16(24);
    header.palette_offset = kFileHeaderBytes + kCoreHeaderBytes;
    return header;
}

Result<Header> read_info_header(const ByteReader& reader, Header header) {
    const std::int64_t width = *reader.i32(18);
    const std::int64_t height = *reader.i32(22);
    if (width < 0) return damaged("its width is negative");
    header.width = static_cast<std::uint64_t>(width);
    header.height = static_cast<std::uint64_t>(height < 0 ? -height : height);
    header.is_top_down = height < 0;
    header.bits = *reader.u16(28);
    header.compression = *reader.u32(30);
    header.n_colours = *reader.u32(46);
    header.palette_offset = kFileHeaderBytes + header.bytes;
    const bool has_masks = header.compression == kMasks || header.compression == kAlphaMasks;
    if (has_masks && header.bytes != kOs2HeaderBytes) {
        // Part of the larger headers; after the 40-byte one.
        for (std::size_t i = 0; i < 3; ++i) {
            const auto mask = reader.u32(kFileHeaderBytes + kInfoHeaderBytes + 4 * i);
            if (!mask) return damaged("the file ends inside its header");
            header.masks[i] = *mask;
        }
        if (header.bytes == kInfoHeaderBytes) header.palette_offset += header.compression == kMasks ? 12 : 16;
    } else if (header.bits == 16) {
        header.masks = {0x7C00, 0x03E0, 0x001F};
    } else if (header.bits == 32) {
        header.masks = {0x00FF0000, 0x0000FF00, 0x000000FF};
    }
    return header;
}

// Whether bits and compression go together, and whether we read them.
Status check_layout(const Header& header) {
    const unsigned bits = header.bits;
    if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32) {
        return unsupported(std::to_string(bits) + " bits per pixel");
    }
    if (header.bytes == kOs2HeaderBytes && header.compression > kRle4) {
        return unsupported("OS/2 compression " + std::to_string(header.compression));
    }
    switch (header.compression) {
        case kPlain: return ok_status();
        case kRle8:
        case kRle4:
            if (bits != (header.compression == kRle8 ? 8U : 4U)) {
                return damaged("its run-length coding does not fit " + std::to_string(bits) +
                               " bits per pixel");
            }
            return header.is_top_down ? damaged("a run-length coded picture cannot be top-down")
                                      : ok_status();
        case kMasks:
        case kAlphaMasks:
            if (bits != 16 && bits != 32) {
                return damaged("colour masks do not fit " + std::to_string(bits) + " bits per pixel");
            }
            for (const std::uint32_t mask : header.masks) {
                const std::uint32_t low = mask == 0 ? 0 : mask >> std::countr_zero(mask);
                if ((low & (low + 1)) != 0) return damaged("a colour mask has gaps");
                if (bits == 16 && mask > 0xFFFF) return damaged("a colour mask exceeds 16 bits");
            }
            return ok_status();
        default: return unsupported("compression " + std::to_string(header.compression));
    }
}

Result<Header> read_header(const ByteReader& reader) {
    const auto pixel_offset = reader.u32(10);
    const auto bytes = reader.u32(14);
    if (!pixel_offset || !bytes) return damaged("the file ends inside its header");
    Header header;
    header.bytes = *bytes;
    header.pixel_offset = *pixel_offset;
    if (reader.size() < kFileHeaderBytes + header.bytes) return damaged("the file ends inside its header");
    const bool is_core = header.bytes == kCoreHeaderBytes;
    CLASP_ASSIGN_OR_RETURN(header,
                           is_core ? read_core_header(reader, header) : read_info_header(reader, header));
    CLASP_RETURN_IF_ERROR(check_layout(header));
    return header;
}

// Colours that the file does not hold are black.
Palette read_palette(Bytes bytes, const Header& header) {
    Palette palette{};
    const std::size_t entry_bytes = header.bytes == kCoreHeaderBytes ? 3 : 4;
    const std::size_t most = std::size_t{1} << header.bits;
    const std::size_t n = header.n_colours == 0 ? most : std::min<std::size_t>(header.n_colours, most);
    const std::size_t end = std::min(bytes.size(), header.pixel_offset);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = header.palette_offset + i * entry_bytes;
        if (at + 3 > end) break;
        palette[i] = {bytes[at + 2], bytes[at + 1], bytes[at]};
    }
    return palette;
}

std::uint8_t* row_of(Image& image, const Header& header, std::size_t stored_row) {
    const std::size_t y = header.is_top_down ? stored_row : header.height - 1 - stored_row;
    return image.rgb.data() + y * header.width * 3;
}

void put(std::uint8_t* row, std::size_t x, const std::array<std::uint8_t, 3>& colour) {
    std::copy_n(colour.data(), 3, row + x * 3);
}

void unpack_indexed(const std::uint8_t* in, const Header& header, const Palette& palette, std::uint8_t* out) {
    const unsigned bits = header.bits;
    const unsigned mask = (1U << bits) - 1;
    for (std::size_t x = 0; x < header.width; ++x) {
        const std::size_t bit = x * bits;
        const unsigned shift = 8 - bits - static_cast<unsigned>(bit % 8);
        put(out, x, palette[(in[bit / 8] >> shift) & mask]);
    }
}

// A field of n bits becomes value * 255 / (2^n - 1), rounded down as Pillow does.
std::uint8_t scale_field(std::uint32_t pixel, std::uint32_t mask) {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const std::uint64_t value = (pixel & mask) >> shift;
    return static_cast<std::uint8_t>(value * 255 / (mask >> shift));
}

void unpack_masked(const std::uint8_t* in, const Header& header, std::uint8_t* out) {
    const std::size_t n_bytes = header.bits / 8;
    for (std::size_t x = 0; x < header.width; ++x) {
        std::uint32_t pixel = 0;
        for (std::size_t i = n_bytes; i-- > 0;) pixel = (pixel << 8) | in[x * n_bytes + i];
        put(out, x,
            {scale_field(pixel, header.masks[0]), scale_field(pixel, header.masks[1]),
             scale_field(pixel, header.masks[2])});
    }
}

void unpack_bgr(const std::uint8_t* in, const Header& header, std::uint8_t* out) {
    for (std::size_t x = 0; x < header.width; ++x) put(out, x, {in[x * 3 + 2], in[x * 3 + 1], in[x * 3]});
}

// Returns the number of whole rows that the file holds, or of those before the work was stopped.
std::size_t unpack_rows(Bytes pixels, const Header& header, const Palette& palette, Image& image,
                        Work& work) {
    const std::size_t stride = (header.width * header.bits + 31) / 32 * 4;
    // The padding of the very last row may be missing: some writers leave it out.
    const std::size_t used = (header.width * header.bits + 7) / 8;
    std::size_t row = 0;
    for (; row < header.height; ++row) {
        const std::size_t at = row * stride;
        if (at > pixels.size() || pixels.size() - at < used || !work.spend(3 * header.width)) break;
        std::uint8_t* out = row_of(image, header, row);
        if (header.bits <= 8) {
            unpack_indexed(pixels.data() + at, header, palette, out);
        } else if (header.bits == 24) {
            unpack_bgr(pixels.data() + at, header, out);
        } else {
            unpack_masked(pixels.data() + at, header, out);
        }
    }
    return row;
}

// Value i of a run of stored bytes: whole bytes for RLE8, high half first for RLE4.
unsigned value_at(const std::uint8_t* data, std::size_t i, bool is_half) {
    if (!is_half) return data[i];
    return i % 2 == 0 ? data[i / 2] >> 4 : data[i / 2] & 0x0F;
}

// The pen of a run-length coded picture. It only moves right and on to later rows, and what a run draws
// beyond the end of its row costs nothing, so all work is bounded by the pixels plus the bytes.
struct Pen {
    Image& image;
    const Header& header;
    const Palette& palette;
    bool is_half;  // RLE4
    std::size_t x = 0;
    std::size_t row = 0;  // as stored, from the bottom

    // `n` pixels from `data`, which a run repeats every `period` values. Returns the pixels drawn.
    std::size_t draw(const std::uint8_t* data, std::size_t n, std::size_t period) {
        std::size_t n_drawn = 0;
        if (row < header.height && x < header.width) {
            n_drawn = std::min(n, static_cast<std::size_t>(header.width) - x);
            std::uint8_t* out = row_of(image, header, row);
            for (std::size_t i = 0; i < n_drawn; ++i) {
                put(out, x + i, palette[value_at(data, i % period, is_half)]);
            }
        }
        x += n;
        return n_drawn;
    }
};

bool fill_background(const Header& header, const Palette& palette, Image& image, Work& work) {
    for (std::size_t row = 0; row < header.height; ++row) {
        if (!work.spend(header.width)) return false;
        std::uint8_t* out = row_of(image, header, row);
        for (std::size_t x = 0; x < header.width; ++x) put(out, x, palette[0]);
    }
    return true;
}

// Returns whether the end mark was reached. Pixels that are never drawn keep colour 0.
bool unpack_runs(Bytes data, const Header& header, const Palette& palette, Image& image, Work& work) {
    if (!fill_background(header, palette, image, work)) return false;
    const bool is_half = header.compression == kRle4;
    Pen pen{image, header, palette, is_half};
    std::size_t at = 0;
    while (at + 2 <= data.size()) {
        const std::size_t count = data[at];
        const std::uint8_t code = data[at + 1];
        at += 2;
        std::size_t n_drawn = 0;
        if (count > 0) {
            n_drawn = pen.draw(&code, count, is_half ? 2 : 1);
        } else if (code == 0) {  // end of row
            pen.x = 0;
            ++pen.row;
        } else if (code == 1) {  // end of picture
            return true;
        } else if (code == 2) {  // move
            if (at + 2 > data.size()) return false;
            pen.x += data[at];
            pen.row += data[at + 1];
            at += 2;
        } else {  // values as they are, padded to an even number of bytes
            const std::size_t n_bytes = is_half ? (std::size_t{code} + 1) / 2 : code;
            if (data.size() - at < n_bytes) return false;
            n_drawn = pen.draw(data.data() + at, code, code);
            at += n_bytes + n_bytes % 2;
        }
        if (!work.spend(n_drawn + 2 * kPackedByteWork)) return false;
        if (pen.row >= header.height) return true;
    }
    return pen.row + 1 == header.height && pen.x >= header.width;
}

}  // namespace

Result<StoredHeader> read_bmp_header(Bytes bytes, const ImageLimits& /*limits*/, Work& /*work*/) {
    CLASP_ASSIGN_OR_RETURN(const Header header, read_header(ByteReader(bytes)));
    return StoredHeader{header.width, header.height, 1};
}

Result<Image> decode_bmp(Bytes bytes, const ImageLimits& limits, Work& work) {
    CLASP_ASSIGN_OR_RETURN(const Header header, read_header(ByteReader(bytes)));
    CLASP_RETURN_IF_ERROR(check_size(header.width, header.height, limits));
    if (header.pixel_offset >= bytes.size()) return damaged("the file ends before its pixels");
    if (header.bits <= 8 && header.pixel_offset < header.palette_offset + 3)
        return damaged("it has no palette");
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(header.width, header.height, kMissingPixel));
    image.format = ImageFormat::Bmp;
    const Palette palette = header.bits <= 8 ? read_palette(bytes, header) : Palette{};
    const Bytes pixels = bytes.subspan(header.pixel_offset);
    if (header.compression == kRle8 || header.compression == kRle4) {
        image.is_partial = !unpack_runs(pixels, header, palette, image, work);
        CLASP_RETURN_IF_ERROR(work.status());
        if (image.is_partial)
            image.warnings.emplace_back("the BMP file ends before the end mark of its pixels");
        return image;
    }
    const std::size_t rows = unpack_rows(pixels, header, palette, image, work);
    CLASP_RETURN_IF_ERROR(work.status());
    if (rows == 0) return damaged("the file ends before its first row of pixels");
    if (rows < header.height) {
        image.is_partial = true;
        image.warnings.push_back("the BMP file ends early: only " + std::to_string(rows) + " of " +
                                 std::to_string(header.height) + " rows are there");
    }
    return image;
}

}  // namespace clasp::image
