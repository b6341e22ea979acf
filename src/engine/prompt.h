// From a conversation to the tokens of a chat prompt with places for the images, and from there to the layout
// of the sequence that the decoder sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/prompt_options.h"
#include "methods/stage_signals.h"
#include "model/text_model.h"

namespace clasp::engine {

// A run of text tokens, or the place of one image.
struct PromptPiece {
    std::int32_t image = -1;  // number of the image, or -1 for text
    std::vector<std::int32_t> tokens = {};
    std::vector<bool> is_instruction = {};  // per token: part of what the user wrote in the last message
};

struct Prompt {
    std::vector<PromptPiece> pieces;
    std::string chat_template;  // what was used: "llava-1.5", "file" or a name
    std::string note;           // a sentence for the log when something had to be guessed, else empty
};

// The last message is the user's, or the beginning of the answer. Images are numbered over the whole
// conversation, and each is followed by what its tower's words say. A system message replaces the usual
// system text. What people and models said never becomes a control token; the template's own words do. Errors
// (invalid_argument): no message, a system message that is not the first, a picture that the user did not
// send, two messages of one side after each other.
Result<Prompt> build_prompt(const model::TextModel& model, std::span<const Message> messages,
                            const PromptOptions& options = {});

// The parts of a raw prompt as they are: texts, whose control tokens are meant, tokens and pictures. A text
// in front gets the model's first token, if it wants one. All words count as the user's.
Result<Prompt> build_raw_prompt(const model::TextModel& model, std::span<const MessagePart> parts,
                                const model::PictureWords& words);

// The sequence of a prompt once the images' token counts are known.
struct PromptLayout {
    std::size_t n_tokens = 0;
    std::size_t n_visual = 0;
    std::vector<std::size_t> image_begin;   // first place of each image
    std::vector<std::int32_t> instruction;  // places of the user's last words after the last image
    std::vector<std::int32_t> post;         // places of all text after the last image
};

// tokens_per_image has one entry per image of the prompt.
Result<PromptLayout> lay_out(const Prompt& prompt, std::span<const std::size_t> tokens_per_image);

// Their places. Never empty: without words of the user it is the last token. Not for Policy and Raters, of
// which the layout knows nothing.
std::vector<std::int32_t> reference_tokens(const PromptLayout& layout, methods::Reference reference);

}  // namespace clasp::engine
