#include "cli/picture_file.h"

#include "cli/output_path.h"
#include "draw/jpeg_writer.h"
#include "draw/png_writer.h"

namespace clasp::cli {

Option map_option(std::string_view help, bool may_move) {
    Option option = {.name = "map",
                     .type = OptionType::File,
                     .value = "FILE",
                     .help = help,
                     .group = OptionGroup::Output,
                     .writes = Writes::File,
                     .extensions = {".png", ".jpg", ".jpeg"}};
    if (may_move) option.extensions.push_back(".webp");
    return option;
}

bool is_animation_name(const std::string& path) {
    return extension_of(path) == ".webp";
}

Status no_animation_of_picture(const std::string& path) {
    return {Code::InvalidArgument, path + ": a map as WebP is an animation, and only clips have one"};
}

Status write_picture(const Image& image, const std::string& path) {
    if (is_animation_name(path)) return no_animation_of_picture(path);
    return extension_of(path) == ".png" ? draw::write_png(image, path) : draw::write_jpeg(image, path);
}

}  // namespace clasp::cli
