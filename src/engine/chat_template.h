// A conversation in the form of a model's chat template, cut into what the template says and what people,
// models and pictures say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/prompt_options.h"
#include "model/text_model.h"

namespace clasp::engine {

struct ChatSegment {
    enum class Kind : std::uint8_t {
        Template,  // control tokens written out in it are meant
        Said,      // somebody's words, which are never control tokens
        Image,
    };
    Kind kind = Kind::Template;
    std::string text = {};     // empty for images
    bool is_question = false;  // said in the last message
};

struct RenderedChat {
    std::vector<ChatSegment> segments;
    std::string name;  // of the template: "llava-1.5", "file" or a name of libllama's
    std::string note;  // a sentence for the user when something had to be guessed, else empty
};

// The template of text files that bring none, by what the decoder and the vision tower are: a name of
// libllama's, or empty for that of LLaVA-1.5.
std::string usual_template(const model::TextConfig& config, const model::PictureWords& words);

// Ends where the assistant begins to speak, or where it stopped when the last message is its own.
Result<RenderedChat> render_chat(const model::TextModel& model, std::span<const Message> messages,
                                 const PromptOptions& options);

}  // namespace clasp::engine
