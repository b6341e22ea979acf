// PNG through libpng. Its errors leave by longjmp, so every function that arms the jump holds nothing
// with a destructor; the state they share is plain data owned by decode_png.
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <png.h>

#include "image/animation.h"
#include "image/byte_reader.h"
#include "image/decoders.h"
#include "image/exif.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr std::size_t kMessageBytes = 160;
// After the last row libpng inflates what is left of the data and throws it away: up to so many bytes each.
constexpr std::uint64_t kLeftoverByteWork = 1024;

struct PngState {
    png_structp png;
    png_infop info;
    const std::uint8_t* next;
    std::size_t left;
    Work* work;
    bool is_last_row;  // of the last pass
    std::jmp_buf escape;
    char message[kMessageBytes];  // why the decoder gave up
    char warning[kMessageBytes];  // the first thing it complained about
    bool keeps_alpha;             // RGBA instead of RGB
    int n_passes;                 // 7 when interlaced, else 1
    int pass;                     // the pass and row being read
    png_uint_32 row;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
    auto* state = static_cast<PngState*>(png_get_error_ptr(png));
    std::snprintf(state->message, sizeof(state->message), "%s", message);
    std::longjmp(state->escape, 1);
}

void on_warning(png_structp png, png_const_charp message) {
    auto* state = static_cast<PngState*>(png_get_error_ptr(png));
    if (state->warning[0] == '\0') std::snprintf(state->warning, sizeof(state->warning), "%s", message);
}

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
    auto* state = static_cast<PngState*>(png_get_io_ptr(png));
    const std::uint64_t byte_work = state->is_last_row ? kLeftoverByteWork : kPackedByteWork;
    if (!state->work->spend(count * byte_work)) std::longjmp(state->escape, 1);
    if (count > state->left) png_error(png, "the file ends early");
    std::memcpy(out, state->next, count);
    state->next += count;
    state->left -= count;
}

// Chunks that could cost memory or time and do not change a pixel as we read it.
void ignore_ancillary(png_structp png) {
    static constexpr png_byte kNames[] =
        "iCCP\0sPLT\0zTXt\0iTXt\0tEXt\0hIST\0pCAL\0sCAL\0gAMA\0cHRM\0sRGB\0bKGD\0tIME\0pHYs\0oFFs\0sBIT";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kNames, sizeof(kNames) / 5);
}

// Creates the decoder and reads up to the first pixel data. False: see state->message.
bool read_header(PngState* state) {
    state->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, state, on_error, on_warning);
    if (state->png == nullptr) return false;
    if (setjmp(state->escape) != 0) return false;
    state->info = png_create_info_struct(state->png);
    if (state->info == nullptr) png_error(state->png, "not enough memory");
    png_set_read_fn(state->png, state, read_bytes);
    // A wrong checksum over intact data is a warning; damaged data fails on its own.
    png_set_crc_action(state->png, PNG_CRC_WARN_USE, PNG_CRC_WARN_USE);
    // Sizes are judged by check_size; here only the sizes that the format itself forbids.
    png_set_user_limits(state->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(state->png, png_alloc_size_t{1} << 20);
    png_set_chunk_cache_max(state->png, 16);
    ignore_ancillary(state->png);
    png_read_info(state->png, state->info);
    return true;
}

// Asks for 8-bit RGB or RGBA whatever is stored.
bool start(PngState* state, Alpha alpha) {
    if (setjmp(state->escape) != 0) return false;
    // Like the original's code, which asks for the mode RGBA: not grey or a palette with alpha.
    const bool is_laid_on_white =
        alpha == Alpha::OnWhite && png_get_color_type(state->png, state->info) == PNG_COLOR_TYPE_RGB_ALPHA;
    png_set_strip_16(state->png);
    png_set_palette_to_rgb(state->png);
    png_set_expand_gray_1_2_4_to_8(state->png);
    png_set_gray_to_rgb(state->png);
    if (is_laid_on_white) {
        png_color_16 white = {};
        white.red = white.green = white.blue = 255;
        // In the numbers as stored, without regard to gamma; 16-bit samples have lost their low byte by then.
        png_set_background(state->png, &white, PNG_BACKGROUND_GAMMA_SCREEN, 0, 1.0);
    } else if (state->keeps_alpha) {
        png_set_tRNS_to_alpha(state->png);
        png_set_add_alpha(state->png, 0xFF, PNG_FILLER_AFTER);
    } else {
        png_set_strip_alpha(state->png);
    }
    state->n_passes = png_set_interlace_handling(state->png);
    png_read_update_info(state->png, state->info);
    return true;
}

// Reads rows until the end or the first error. False: state->pass and state->row say how far it came.
bool read_rows(PngState* state, std::uint8_t* rgb, std::size_t row_bytes, png_uint_32 height,
               std::uint64_t row_work) {
    if (setjmp(state->escape) != 0) return false;
    for (state->pass = 0; state->pass < state->n_passes; ++state->pass) {
        for (state->row = 0; state->row < height; ++state->row) {
            if (!state->work->spend(row_work)) return false;
            state->is_last_row = state->pass + 1 == state->n_passes && state->row + 1 == height;
            png_read_row(state->png, rgb + state->row * row_bytes, nullptr);
        }
    }
    return true;
}

// The rest of the file, for an orientation that stands after the pixels. Nothing there is vital.
void read_trailer(PngState* state) {
    if (setjmp(state->escape) != 0) return;
    png_read_end(state->png, state->info);
}

int stored_orientation(const PngState& state) {
    png_bytep block = nullptr;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(state.png, state.info, &size, &block) == 0 || block == nullptr) return 1;
    return exif_orientation(strip_exif_prefix(Bytes(block, size)));
}

struct DestroyPng {
    PngState* state;
    ~DestroyPng() { png_destroy_read_struct(&state->png, &state->info, nullptr); }
};

// Of a row in one pass, as stored. A sample of 16 bits is two; the seven passes of an interlaced picture
// decode its pixels once and spread them over whole rows once.
std::uint64_t work_of_row(const PngState& state) {
    const std::uint64_t samples =
        std::uint64_t{png_get_image_width(state.png, state.info)} * png_get_channels(state.png, state.info);
    const std::uint64_t bytes = png_get_bit_depth(state.png, state.info) == 16 ? 2 * samples : samples;
    return png_get_interlace_type(state.png, state.info) == PNG_INTERLACE_NONE ? bytes : bytes * 2 / 7 + 1;
}

Status stopped(const PngState& state) {
    if (state.work->is_stopped()) return state.work->status();
    return {Code::Corrupt, std::string("the PNG picture cannot be decoded: ") +
                               (state.message[0] != '\0' ? state.message : "not enough memory")};
}

}  // namespace

// Its chunks are walked by hand: the orientation may stand behind the pixels, which the library would
// have to decode first.
Result<StoredHeader> read_png_header(Bytes bytes, const ImageLimits& /*limits*/, Work& work) {
    constexpr std::size_t kSignature = 8;
    constexpr std::size_t kAround = 12;                 // length, name and checksum of a chunk
    constexpr std::uint32_t kSize = 0x49484452;         // IHDR
    constexpr std::uint32_t kOrientation = 0x65584966;  // eXIf
    const ByteReader reader(bytes, ByteOrder::Big);
    StoredHeader header;
    bool is_turned = false;
    for (std::size_t at = kSignature;;) {
        if (!work.spend(kAround * kPackedByteWork)) return work.status();
        const auto length = reader.u32(at);
        const auto name = reader.u32(at + 4);
        if (!name || *length > bytes.size() - at - 8) break;
        const Bytes data = bytes.subspan(at + 8, *length);
        if (*name == kSize && data.size() >= 8 && header.width == 0) {
            header.width = *reader.u32(at + 8);
            header.height = *reader.u32(at + 12);
        }
        if (*name == kOrientation && !is_turned) {  // like the library, the first of several
            header.orientation = exif_orientation(strip_exif_prefix(data));
            is_turned = true;
        }
        at += kAround + data.size();
    }
    if (header.width == 0 || header.height == 0) {
        return Status(Code::Corrupt, "the PNG picture cannot be decoded: it states no size");
    }
    return header;
}

Result<Image> decode_png(Bytes bytes, const ImageLimits& limits, Work& work, Alpha alpha) {
    PngState state{};
    state.next = bytes.data();
    state.left = bytes.size();
    state.work = &work;
    const DestroyPng destroy{&state};
    if (!read_header(&state)) return stopped(state);
    const png_uint_32 width = png_get_image_width(state.png, state.info);
    const png_uint_32 height = png_get_image_height(state.png, state.info);
    CLASP_RETURN_IF_ERROR(check_size(width, height, limits));
    const std::uint64_t row_work = work_of_row(state);
    if (!start(&state, alpha)) return stopped(state);
    const std::size_t row_bytes = std::size_t{width} * 3;
    if (png_get_rowbytes(state.png, state.info) != row_bytes) {
        return Status(Code::Internal, "the PNG decoder did not convert to 8-bit RGB");
    }
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(width, height, kMissingPixel));
    image.format = ImageFormat::Png;
    const bool is_whole = read_rows(&state, image.rgb.data(), row_bytes, height, row_work);
    state.is_last_row = false;
    CLASP_RETURN_IF_ERROR(work.status());
    if (!is_whole) {
        if (state.pass == 0 && state.row == 0) return stopped(state);
        image.is_partial = true;
        const std::string where = state.n_passes > 1
                                      ? std::to_string(state.pass) + " of 7 passes"
                                      : std::to_string(state.row) + " of " + std::to_string(height) + " rows";
        image.warnings.push_back("the PNG picture is incomplete, only " + where +
                                 " could be read: " + state.message);
    } else {
        read_trailer(&state);
        CLASP_RETURN_IF_ERROR(work.status());
        if (state.message[0] != '\0') {
            image.warnings.push_back(std::string("the end of the PNG file is damaged: ") + state.message);
        }
    }
    if (state.warning[0] != '\0') {
        image.warnings.push_back(std::string("the PNG file is irregular: ") + state.warning);
    }
    image.orientation = stored_orientation(state);
    return image;
}

Result<RgbaPicture> decode_png_rgba(Bytes bytes, const ImageLimits& limits, Work& work) {
    PngState state{};
    state.next = bytes.data();
    state.left = bytes.size();
    state.work = &work;
    state.keeps_alpha = true;
    const DestroyPng destroy{&state};
    if (!read_header(&state)) return stopped(state);
    RgbaPicture picture;
    picture.width = png_get_image_width(state.png, state.info);
    picture.height = png_get_image_height(state.png, state.info);
    CLASP_RETURN_IF_ERROR(check_size(picture.width, picture.height, limits));
    const std::uint64_t row_work = work_of_row(state);
    if (!start(&state, Alpha::Drop)) return stopped(state);
    const std::size_t row_bytes = picture.width * 4;
    if (png_get_rowbytes(state.png, state.info) != row_bytes) {
        return Status(Code::Internal, "the PNG decoder did not convert to 8-bit RGBA");
    }
    picture.rgba.resize(picture.height * row_bytes);
    const bool is_whole =
        read_rows(&state, picture.rgba.data(), row_bytes, static_cast<png_uint_32>(picture.height), row_work);
    return is_whole ? Result(std::move(picture)) : Result<RgbaPicture>(stopped(state));
}

}  // namespace clasp::image
