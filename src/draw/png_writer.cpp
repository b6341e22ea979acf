#include "draw/png_writer.h"

#include <csetjmp>
#include <cstddef>
#include <new>

#include <png.h>

#include "base/file.h"

namespace clasp::draw {

namespace {

// Shared with libpng's callbacks, which leave by longjmp: plain data only.
struct PngState {
    png_structp png;
    png_infop info;
    std::vector<std::uint8_t>* out;
    std::jmp_buf escape;
    bool is_out_of_memory;
};

[[noreturn]] void on_error(png_structp png, png_const_charp) {
    std::longjmp(static_cast<PngState*>(png_get_error_ptr(png))->escape, 1);
}

void on_warning(png_structp, png_const_charp) {}

void append(png_structp png, png_bytep data, std::size_t size) {
    auto* writer = static_cast<PngState*>(png_get_io_ptr(png));
    try {
        writer->out->insert(writer->out->end(), data, data + size);
    } catch (const std::bad_alloc&) {
        writer->is_out_of_memory = true;
    }
    if (writer->is_out_of_memory) png_error(png, "out of memory");
}

void flush(png_structp) {}

bool write_all(PngState* writer, const Image* image) {
    writer->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, writer, on_error, on_warning);
    if (writer->png == nullptr) return false;
    if (setjmp(writer->escape) != 0) return false;
    writer->info = png_create_info_struct(writer->png);
    if (writer->info == nullptr) return false;
    png_set_write_fn(writer->png, writer, append, flush);
    png_set_IHDR(writer->png, writer->info, static_cast<png_uint_32>(image->width),
                 static_cast<png_uint_32>(image->height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(writer->png, writer->info);
    const std::size_t stride = static_cast<std::size_t>(image->width) * 3;
    for (std::size_t y = 0; y < static_cast<std::size_t>(image->height); ++y) {
        png_write_row(writer->png, image->rgb.data() + y * stride);
    }
    png_write_end(writer->png, writer->info);
    return true;
}

}  // namespace

Result<std::vector<std::uint8_t>> encode_png(const Image& image) {
    if (image.width < 1 || image.height < 1)
        return Status(Code::InvalidArgument, "an empty picture has no PNG form");
    std::vector<std::uint8_t> out;
    PngState writer{};
    writer.out = &out;
    const bool is_written = write_all(&writer, &image);
    png_destroy_write_struct(&writer.png, &writer.info);
    if (is_written) return out;
    const bool no_memory = writer.is_out_of_memory || writer.png == nullptr;
    return no_memory ? Status(Code::OutOfMemory, "not enough memory to write a PNG picture")
                     : Status(Code::Internal, "libpng refused to write the picture");
}

Status write_png(const Image& image, const std::string& path) {
    auto bytes = encode_png(image);
    if (!bytes.ok()) return bytes.status().with_context(path);
    return base::write_file_atomic(path, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

}  // namespace clasp::draw
