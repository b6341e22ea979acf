// OpenAI's Responses, as far as nothing has to be remembered between them.
#pragma once

#include "serve/chat_request.h"

namespace clasp::serve {

// What a reply repeats of its request.
struct ResponsesRequest {
    ChatRequest chat;
    base::Json instructions;  // null without
};

Check read_responses(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                     ResponsesRequest& responses);

}  // namespace clasp::serve
