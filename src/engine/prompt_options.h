// How a conversation becomes a prompt, beside what was said in it.
#pragma once

#include <string>

#include "model/vision_types.h"

namespace clasp::engine {

struct PromptOptions {
    // A template that libllama knows by name ("vicuna", "chatml", "llama3", ...), "llava-1.5", or empty: the
    // file's own if libllama recognises it, else the tower's, else the usual one of the architecture, for
    // llama that of LLaVA-1.5.
    std::string chat_template = {};
    model::PictureWords words = {};  // the vision tower's
};

}  // namespace clasp::engine
