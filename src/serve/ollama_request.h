// Ollama's chat and generate requests, turned into messages as OpenAI has them, so that pictures, texts and
// limits are read in one place.
#pragma once

#include "base/json.h"
#include "serve/chat_request.h"

namespace clasp::serve {

// is_empty: there is nothing to answer; Ollama's clients load and unload models that way.
Check read_ollama_chat(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                       ChatRequest& chat, bool& is_empty);
Check read_ollama_generate(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                           ChatRequest& chat, bool& is_empty);

}  // namespace clasp::serve
