// The token map of an answer: the picture with the tokens that each stage kept. For answers about one image
// that bring its picture (AskRequest::want_pictures): it is drawn on as the model saw it.
#pragma once

#include <span>
#include <string>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "draw/canvas.h"

namespace clasp::cli {

Result<draw::Canvas> token_map(const std::string& question, const Answer& answer,
                               const std::string& model_name);

// The same as a file, in the format that its name asks for.
Status write_token_map(const std::string& map_path, const std::string& question, const Answer& answer,
                       const std::string& model_name);

// One panel per answer about the same image: what its method had kept in the end. The first brings the
// picture.
Status write_comparison_map(const std::string& map_path, const std::string& question,
                            std::span<const Answer> answers, const std::string& note);

}  // namespace clasp::cli
