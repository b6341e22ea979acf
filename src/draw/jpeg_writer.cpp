// libjpeg's errors leave by longjmp, so the function that arms the jump holds nothing with a destructor; the
// state it shares with the callbacks is plain data owned by encode_jpeg.
#include "draw/jpeg_writer.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include "base/file.h"
#include "base/text.h"

namespace clasp::draw {

namespace {

struct JpegState {
    jpeg_compress_struct info;
    jpeg_error_mgr errors;
    std::jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
    unsigned char* bytes;  // allocated by libjpeg
    unsigned long n_bytes;
};

[[noreturn]] void on_error(j_common_ptr info) {
    auto* writer = static_cast<JpegState*>(info->client_data);
    info->err->format_message(info, writer->message);
    std::longjmp(writer->escape, 1);
}

void do_not_print(j_common_ptr) {}

bool compress(JpegState* writer, const Image* image, int quality) {
    jpeg_compress_struct* info = &writer->info;
    info->err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = on_error;
    writer->errors.output_message = do_not_print;
    info->client_data = writer;
    if (setjmp(writer->escape) != 0) return false;
    jpeg_create_compress(info);
    jpeg_mem_dest(info, &writer->bytes, &writer->n_bytes);
    info->image_width = static_cast<JDIMENSION>(image->width);
    info->image_height = static_cast<JDIMENSION>(image->height);
    info->input_components = 3;
    info->in_color_space = JCS_RGB;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, quality, TRUE);
    info->comp_info[0].h_samp_factor = 1;
    info->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(info, TRUE);
    const std::size_t stride = static_cast<std::size_t>(image->width) * 3;
    while (info->next_scanline < info->image_height) {
        // libjpeg reads rows through pointers to non-const.
        JSAMPROW row = const_cast<JSAMPROW>(image->rgb.data() + info->next_scanline * stride);
        jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
    return true;
}

}  // namespace

Result<std::string> encode_jpeg(const Image& image, int quality) {
    if (image.width < 1 || image.height < 1)
        return Status(Code::InvalidArgument, "an empty picture has no JPEG form");
    if (image.width > JPEG_MAX_DIMENSION || image.height > JPEG_MAX_DIMENSION) {
        return Status(Code::InvalidArgument,
                      "a JPEG picture has at most " + std::to_string(JPEG_MAX_DIMENSION) + " pixels a side");
    }
    JpegState writer{};
    const bool is_written = compress(&writer, &image, quality);
    jpeg_destroy_compress(&writer.info);
    Result<std::string> result(std::string{});
    if (is_written) {
        result = std::string(reinterpret_cast<const char*>(writer.bytes), writer.n_bytes);
    } else {
        result =
            Status(Code::OutOfMemory, std::string("libjpeg could not write the picture: ") + writer.message);
    }
    std::free(writer.bytes);
    return result;
}

Status write_jpeg(const Image& image, const std::string& path) {
    const auto bytes = encode_jpeg(image);
    if (!bytes.ok()) return bytes.status().with_context(base::path_in_quotes(path));
    return base::write_file_atomic(path, *bytes);
}

}  // namespace clasp::draw
