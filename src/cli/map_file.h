// The token map of an answer: the picture with the tokens that each stage kept. For answers about one image.
#pragma once

#include <span>
#include <string>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "draw/canvas.h"

namespace clasp::cli {

Result<draw::Canvas> token_map(const Image& picture, const std::string& question, const Answer& answer,
                               const std::string& model_name);

// The same of the picture at image_path, as a PNG file.
Status write_token_map(const std::string& map_path, const std::string& image_path,
                       const std::string& question, const Answer& answer, const std::string& model_name);

// One panel per answer about the same image: what its method had kept in the end.
Status write_comparison_map(const std::string& map_path, const std::string& image_path,
                            const std::string& question, std::span<const Answer> answers,
                            const std::string& note);

}  // namespace clasp::cli
