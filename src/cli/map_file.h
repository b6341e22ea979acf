// The token map of an answer: the picture with the tokens that each stage kept, several pictures below each
// other. For answers that bring their pictures (AskRequest::want_pictures): they are drawn on as the model
// saw them.
#pragma once

#include <span>
#include <string>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "draw/canvas.h"
#include "draw/token_map.h"

namespace clasp::cli {

// All tokens with what a stage made of them.
draw::StagePanel stage_panel(const StageReport& stage, std::size_t n_tokens);
// What the decoder saw last: the last stage that kept something, or all tokens when none did.
draw::StagePanel last_panel(const Answer& answer);

Result<draw::Canvas> token_map(const std::string& question, const Answer& answer,
                               const std::string& model_name);

// Whether there is a map of these images under that name, and one of several answers about them, as far as
// can be told before anything is asked. Images that cannot be read are no clips.
Status check_token_map(const std::string& map_path, std::span<const ImageSource> images);
Status check_comparison_map(std::span<const ImageSource> images);

// The same as a file, in the format that its name asks for; of a clip its map over time.
Status write_token_map(const std::string& map_path, const std::string& question, const Answer& answer,
                       const std::string& model_name);

// One panel per answer about the same image: what its method had kept in the end. The first brings the
// picture.
Status write_comparison_map(const std::string& map_path, const std::string& question,
                            std::span<const Answer> answers, const std::string& note);

}  // namespace clasp::cli
