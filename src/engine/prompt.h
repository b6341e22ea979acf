// From a question and a number of images to the tokens of a chat prompt with places for the images, and
// from there to the layout of the sequence that the decoder sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "model/text_model.h"

namespace clasp::engine {

struct PromptOptions {
    // A template that libllama knows by name ("vicuna", "chatml", "llama3", ...), or empty: the file's
    // own if libllama recognises it, else that of LLaVA-1.5.
    std::string chat_template = {};
    // Replaces the template's own system text, if it has one.
    std::string system = {};
};

// A run of text tokens, or the place of one image.
struct PromptPiece {
    std::int32_t image = -1;  // number of the image, or -1 for text
    std::vector<std::int32_t> tokens = {};
    std::vector<bool> is_instruction = {};  // per token: part of what the user wrote
};

struct Prompt {
    std::vector<PromptPiece> pieces;
    std::string chat_template;  // what was used: "llava-1.5", "file" or a name
    std::string note;           // a sentence for the log when something had to be guessed, else empty
};

// Images stand before the question, each followed by a line break, as LLaVA was trained. The user's
// words never become control tokens; those of the template do.
Result<Prompt> build_prompt(const model::TextModel& model, std::string_view question, std::size_t n_images,
                            const PromptOptions& options = {});

// Which tokens score the visual ones.
enum class ReferenceMode : std::uint8_t {
    Instruction,  // the user's words after the last image
    Last,         // the last token
    Post,         // all text after the last image
    All,          // every token, visual ones too
};

// The sequence of a prompt once the images' token counts are known.
struct PromptLayout {
    std::size_t n_tokens = 0;
    std::size_t n_visual = 0;
    std::vector<std::size_t> image_begin;   // first place of each image
    std::vector<std::int32_t> instruction;  // places of the user's words after the last image
    std::vector<std::int32_t> post;         // places of all text after the last image
};

// tokens_per_image has one entry per image of the prompt.
Result<PromptLayout> lay_out(const Prompt& prompt, std::span<const std::size_t> tokens_per_image);

// Never empty: an empty choice falls back to the last token.
std::vector<std::int32_t> reference_tokens(const PromptLayout& layout, ReferenceMode mode);

}  // namespace clasp::engine
