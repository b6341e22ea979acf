// What enters the decoder for a question about pictures, as the engine puts it together, for tests that then
// run the decoder by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/arranged_image.h"
#include "engine/prompt.h"
#include "engine/visual_input.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp::test {

// Everything that the parts borrow from comes with them.
struct EnteringPrompt {
    std::shared_ptr<const model::TextModel> text;
    std::shared_ptr<const model::VisionModel> vision;
    engine::VisualInput seen;
    engine::Prompt prompt;
    std::vector<engine::ArrangedImage> images;
    std::vector<engine::PromptPart> parts;
    std::vector<std::int32_t> question;  // places of the last text
    std::size_t n_visual = 0;
};

// Of the files, in single precision and as stored; an empty mix is the original model's layer. Aborts the
// test program when something is refused: there is nothing to test then.
EnteringPrompt enter_prompt(const std::string& text_path, const std::string& vision_path,
                            const std::vector<std::string>& pictures, const std::string& words,
                            const Mix& mix = {});

// The words of a whole prompt, rows of pictures as #.
std::string words_of(const EnteringPrompt& entering);

}  // namespace clasp::test
