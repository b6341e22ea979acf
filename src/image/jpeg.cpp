// JPEG through libjpeg-turbo. Its errors leave by longjmp, so every function that arms the jump holds
// nothing with a destructor; the state they share is plain data owned by decode_jpeg.
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "image/decoders.h"
#include "image/exif.h"
#include "image/limits.h"

namespace clasp::image {

namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr std::uint64_t kArithmeticWork = 4;  // arithmetic decoding takes about that many times as long

struct JpegState {
    jpeg_decompress_struct info;
    jpeg_error_mgr errors;
    jpeg_source_mgr source;
    jpeg_progress_mgr progress;
    std::jmp_buf escape;
    Work* work;
    const JOCTET* exif;  // the first Exif block before the pixels, inside the file's bytes; or null
    std::size_t exif_bytes;
    char message[JMSG_LENGTH_MAX];  // why the decoder gave up
    char warning[JMSG_LENGTH_MAX];  // the first thing it complained about
    int max_scans;
    bool is_started;        // past the header: what goes wrong from here on touches pixels
    bool is_reading;        // rows of pixels; before, all scans of a file with many are read
    bool has_many_scans;    // progressive, or one scan per component
    bool ran_dry;           // the file ended before its end marker
    bool has_full_detail;   // every scan of a picture with many is there
    bool is_damaged;        // the decoder met invalid data and went on, or gave up
    bool has_pixels;        // something was decoded before the first sign of damage
    JDIMENSION sound_rows;  // rows finished before it
};

JpegState* state_of(j_common_ptr info) {
    return static_cast<JpegState*>(info->client_data);
}

[[noreturn]] void on_error(j_common_ptr info) {
    JpegState* state = state_of(info);
    info->err->format_message(info, state->message);
    std::longjmp(state->escape, 1);
}

void note_damage(JpegState* state) {
    if (state->is_damaged || !state->is_started) return;
    state->is_damaged = true;
    state->sound_rows = state->info.output_scanline;
    state->has_pixels = state->info.output_scanline > 0 || state->info.input_scan_number > 1 ||
                        state->info.input_iMCU_row > 0;
}

// Leaves the decoder when the picture has cost enough.
void spend(JpegState* state, std::uint64_t units) {
    if (!state->work->spend(units)) std::longjmp(state->escape, 1);
}

// Warnings, and a trace of every marker that is read.
void on_message(j_common_ptr info, int level) {
    JpegState* state = state_of(info);
    if (level >= 0) {
        spend(state, kMarkerWork);
        return;
    }
    // A missing or foreign JFIF version and the like do not touch the pixels.
    const bool is_harmless =
        info->err->msg_code == JWRN_JFIF_MAJOR || info->err->msg_code == JWRN_ADOBE_XFORM;
    if (!is_harmless) note_damage(state);
    if (state->warning[0] == '\0') info->err->format_message(info, state->warning);
    ++info->err->num_warnings;
}

void do_not_print(j_common_ptr) {}

void init_source(j_decompress_ptr) {}
void term_source(j_decompress_ptr) {}

// The whole file is in memory, so asking for more means that it was cut: feed an end marker, which makes
// the decoder finish the picture with what it has.
boolean feed_end_marker(j_decompress_ptr info) {
    static constexpr JOCTET kEnd[2] = {0xFF, JPEG_EOI};
    static_cast<JpegState*>(info->client_data)->ran_dry = true;
    info->src->next_input_byte = kEnd;
    info->src->bytes_in_buffer = sizeof(kEnd);
    return TRUE;
}

void skip_bytes(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted <= info->src->bytes_in_buffer) {
        info->src->next_input_byte += wanted;
        info->src->bytes_in_buffer -= wanted;
    } else {
        feed_end_marker(info);
    }
}

// An APP1 marker: notes the first Exif block and copies nothing. The library would keep a list of all such
// markers and walk to its end for each.
boolean read_app1(j_decompress_ptr info) {
    auto* state = static_cast<JpegState*>(info->client_data);
    spend(state, kMarkerWork);
    const std::size_t left = info->src->bytes_in_buffer;
    const JOCTET* bytes = info->src->next_input_byte;
    if (left < 2) return feed_end_marker(info);
    // Its own two bytes are counted; a length of less is passed over, as the library does.
    const std::size_t length = std::max<std::size_t>((std::size_t{bytes[0]} << 8) + bytes[1], 2);
    if (length > left) return feed_end_marker(info);
    const Bytes block(bytes + 2, length - 2);
    const Bytes tiff = strip_exif_prefix(block);
    if (state->exif == nullptr && !state->is_started && tiff.size() != block.size()) {
        state->exif = tiff.data();
        state->exif_bytes = tiff.size();
    }
    skip_bytes(info, static_cast<long>(length));
    return TRUE;
}

// Called before every row of blocks of a file with many scans, and before every row of pixels. Each scan
// costs a pass over the whole picture: a small file could ask for hours.
void count_work(j_common_ptr common) {
    JpegState* state = state_of(common);
    const jpeg_decompress_struct& info = state->info;
    if (info.input_scan_number > state->max_scans) {
        std::snprintf(state->message, sizeof(state->message), "it has more than %d scans", state->max_scans);
        std::longjmp(state->escape, 1);
    }
    const std::uint64_t coding = info.arith_code != FALSE ? kArithmeticWork : 1;
    if (state->is_reading) {
        const std::uint64_t row =
            std::uint64_t{info.output_width} * static_cast<unsigned>(info.num_components);
        spend(state, state->has_many_scans ? row : row * (1 + coding));
        return;
    }
    std::uint64_t samples = 0;
    for (int i = 0; i < info.comps_in_scan; ++i) {
        const jpeg_component_info& component = *info.cur_comp_info[i];
        samples += std::uint64_t{component.width_in_blocks} * static_cast<unsigned>(component.v_samp_factor) *
                   DCTSIZE2;
    }
    spend(state, samples * coding);
}

void set_up(JpegState* state, int max_scans, Work* work) {
    state->info.err = jpeg_std_error(&state->errors);
    state->errors.error_exit = on_error;
    state->errors.emit_message = on_message;
    state->errors.output_message = do_not_print;
    state->info.client_data = state;
    state->max_scans = max_scans;
    state->work = work;
}

// Creates the decoder and reads up to the first scan. False: see state->message.
bool read_header(JpegState* state, Bytes bytes) {
    if (setjmp(state->escape) != 0) return false;
    jpeg_create_decompress(&state->info);
    state->progress.progress_monitor = count_work;
    state->info.progress = &state->progress;
    state->source.init_source = init_source;
    state->source.fill_input_buffer = feed_end_marker;
    state->source.skip_input_data = skip_bytes;
    state->source.resync_to_restart = jpeg_resync_to_restart;
    state->source.term_source = term_source;
    state->source.next_input_byte = bytes.data();
    state->source.bytes_in_buffer = bytes.size();
    state->info.src = &state->source;
    jpeg_set_marker_processor(&state->info, kExifMarker, read_app1);
    jpeg_read_header(&state->info, TRUE);
    state->has_many_scans = jpeg_has_multiple_scans(&state->info) != FALSE;
    return true;
}

// Starts the output. All memory that the decoder needs is taken here.
bool start(JpegState* state, std::size_t max_memory) {
    if (setjmp(state->escape) != 0) return false;
    state->info.mem->max_memory_to_use = static_cast<long>(max_memory);
    state->info.out_color_space = state->info.num_components == 4 ? JCS_CMYK : JCS_RGB;
    state->is_started = true;
    jpeg_start_decompress(&state->info);
    return true;
}

// Whether every coefficient of a progressive picture is known to its last bit.
bool knows_all_bits(const jpeg_decompress_struct& info) {
    if (info.coef_bits == nullptr) return false;
    for (int component = 0; component < info.num_components; ++component) {
        for (int k = 0; k < DCTSIZE2; ++k) {
            if (info.coef_bits[component][k] != 0) return false;
        }
    }
    return true;
}

// Reads on to the end marker: leftover data before it means that rows went wrong unnoticed.
// The decoder's memory is gone afterwards.
void finish(JpegState* state) {
    state->has_full_detail = knows_all_bits(state->info);
    if (setjmp(state->escape) != 0) {
        note_damage(state);
        return;
    }
    jpeg_finish_decompress(&state->info);
}

// One row into `row`, which holds output_width * output_components bytes.
bool read_row(JpegState* state, JSAMPLE* row) {
    if (setjmp(state->escape) != 0) return false;
    state->is_reading = true;
    return jpeg_read_scanlines(&state->info, &row, 1) == 1;
}

// Stored ink is inverted (255: none), as Adobe writes it and as Pillow takes every such file. Rounding is
// Pillow's too.
void ink_to_rgb(const std::uint8_t* cmyk, std::uint8_t* rgb, std::size_t n_pixels) {
    for (std::size_t i = 0; i < n_pixels; ++i, cmyk += 4, rgb += 3) {
        const int light = cmyk[3];
        for (int c = 0; c < 3; ++c) {
            const int product = (255 - cmyk[c]) * light + 128;
            const int absorbed = ((product >> 8) + product) >> 8;
            rgb[c] = static_cast<std::uint8_t>(light - absorbed);
        }
    }
}

struct Destroy {
    JpegState* state;
    ~Destroy() { jpeg_destroy_decompress(&state->info); }
};

Status stopped(const JpegState& state) {
    if (state.work->is_stopped()) return state.work->status();
    return {Code::Corrupt, std::string("the JPEG picture cannot be decoded: ") + state.message};
}

void describe_damage(const JpegState& state, Image& image) {
    const bool lacks_scans = state.ran_dry && state.has_many_scans && !state.has_full_detail;
    if (!state.is_damaged && !lacks_scans) {
        if (state.warning[0] != '\0') {
            image.warnings.push_back(std::string("the JPEG file is irregular: ") + state.warning);
        }
        if (state.ran_dry) image.warnings.emplace_back("the JPEG file lacks its end marker");
        return;
    }
    image.is_partial = true;
    if (state.has_many_scans) {
        image.warnings.emplace_back(state.ran_dry ? "the JPEG file ends early: detail is missing"
                                                  : "the JPEG data is damaged: detail is missing or wrong");
        return;
    }
    if (state.sound_rows >= state.info.output_height) {
        image.warnings.emplace_back("the JPEG data is damaged: some rows may be wrong");
        return;
    }
    const std::string rows = std::to_string(state.sound_rows) + " of " + std::to_string(image.height);
    image.warnings.push_back((state.ran_dry ? "the JPEG file ends early: only the first "
                                            : "the JPEG data is damaged: only the first ") +
                             rows + " rows are sound");
}

}  // namespace

Result<StoredHeader> read_jpeg_header(Bytes bytes, const ImageLimits& limits, Work& work) {
    JpegState state{};
    set_up(&state, limits.max_scans, &work);
    const Destroy destroy{&state};
    if (!read_header(&state, bytes)) return stopped(state);
    const int orientation = state.exif == nullptr ? 1 : exif_orientation(Bytes(state.exif, state.exif_bytes));
    return StoredHeader{state.info.image_width, state.info.image_height, orientation};
}

Result<Image> decode_jpeg(Bytes bytes, const ImageLimits& limits, Work& work) {
    JpegState state{};
    set_up(&state, limits.max_scans, &work);
    const Destroy destroy{&state};
    if (!read_header(&state, bytes)) return stopped(state);
    const auto& info = state.info;
    CLASP_RETURN_IF_ERROR(check_size(info.image_width, info.image_height, limits));
    if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4) {
        return Status(Code::Unsupported, "a JPEG picture with " + std::to_string(info.num_components) +
                                             " components is not supported");
    }
    CLASP_ASSIGN_OR_RETURN(Image image, make_image(info.image_width, info.image_height, kMissingPixel));
    image.format = ImageFormat::Jpeg;
    if (state.exif != nullptr) image.orientation = exif_orientation(Bytes(state.exif, state.exif_bytes));
    // Coefficients of a progressive file take two bytes per component and pixel, sides rounded up to
    // whole blocks of up to 32 pixels.
    const std::size_t max_memory =
        (std::size_t{info.image_width} + 32) * (std::size_t{info.image_height} + 32) * 8 +
        (std::size_t{16} << 20);
    if (!start(&state, max_memory)) return stopped(state);
    const bool is_ink = info.out_color_space == JCS_CMYK;
    const std::size_t width = info.output_width;
    std::vector<std::uint8_t> ink(is_ink ? width * 4 : 0);
    JDIMENSION row = 0;
    for (; row < info.output_height; ++row) {
        std::uint8_t* out = image.rgb.data() + std::size_t{row} * width * 3;
        if (!read_row(&state, is_ink ? ink.data() : out)) {
            note_damage(&state);
            break;
        }
        if (is_ink) ink_to_rgb(ink.data(), out, width);
    }
    if (row == info.output_height) finish(&state);
    CLASP_RETURN_IF_ERROR(work.status());
    if (state.is_damaged && !state.has_pixels) {
        return Status(Code::Corrupt, "the JPEG picture has no decodable pixels");
    }
    describe_damage(state, image);
    return image;
}

}  // namespace clasp::image
