// The map of a clip: a contact sheet as PNG or JPEG, or an animation as WebP.
#pragma once

#include <string>

#include "clasp/engine.h"
#include "clasp/status.h"

namespace clasp::cli {

// The answer has one clip, with its pictures. Error: a model that does not say where its tokens lie.
Status write_clip_map(const std::string& map_path, const std::string& question, const Answer& answer,
                      const std::string& note);

}  // namespace clasp::cli
