// The token map of an answer, as a PNG file.
#pragma once

#include <span>
#include <string>

#include "clasp/engine.h"
#include "clasp/status.h"

namespace clasp::cli {

// The picture at image_path with the tokens that each stage kept. For answers about one image.
Status write_token_map(const std::string& map_path, const std::string& image_path,
                       const std::string& question, const Answer& answer, const std::string& model_name);

// One panel per answer about the same image: what its method had kept in the end.
Status write_comparison_map(const std::string& map_path, const std::string& image_path,
                            const std::string& question, std::span<const Answer> answers,
                            const std::string& note);

}  // namespace clasp::cli
