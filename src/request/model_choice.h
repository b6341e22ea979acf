// Which of the models that come with the program answers.
#pragma once

#include <string>

#include "request/settings.h"

namespace clasp::request {

inline constexpr const char* kClipModel = "tiny-video";

// What the request says of its model. Where it says nothing, and the model for clips came with the program,
// that one answers questions about clips (settings.request.images).
std::string usual_model(const Settings& settings, bool has_clip_model);

}  // namespace clasp::request
