#include "cli/picture_file.h"

#include "cli/output_path.h"
#include "draw/jpeg_writer.h"
#include "draw/png_writer.h"

namespace clasp::cli {

Option map_option(std::string_view help) {
    return {.name = "map",
            .type = OptionType::File,
            .value = "FILE",
            .help = help,
            .group = OptionGroup::Output,
            .writes = Writes::File,
            .extensions = {".png", ".jpg", ".jpeg"}};
}

Status write_picture(const Image& image, const std::string& path) {
    return extension_of(path) == ".png" ? draw::write_png(image, path) : draw::write_jpeg(image, path);
}

}  // namespace clasp::cli
