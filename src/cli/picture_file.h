// A drawn picture as a file, in the format that its name asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"
#include "cli/option.h"

namespace clasp::cli {

// --map, for the commands that draw. may_move: also as an animation, of clips.
Option map_option(std::string_view help, bool may_move = false);

// Whether the name asks for an animation, which only clips have, and what is said where there is none.
bool is_animation_name(const std::string& path);
Status no_animation_of_picture(const std::string& path);

// PNG or, for .jpg and .jpeg, JPEG. The file appears whole or not at all.
Status write_picture(const Image& image, const std::string& path);

}  // namespace clasp::cli
