// A drawn picture as a file, in the format that its name asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"
#include "cli/option.h"

namespace clasp::cli {

// --map, for the commands that draw.
Option map_option(std::string_view help);

// PNG or, for .jpg and .jpeg, JPEG. The file appears whole or not at all.
Status write_picture(const Image& image, const std::string& path);

}  // namespace clasp::cli
