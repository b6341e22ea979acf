// Anthropic's Messages as this server understands them.
#pragma once

#include "serve/chat_request.h"

namespace clasp::serve {

Check read_anthropic(const base::Json& body, const HttpRequest& http, const ChatContext& context,
                     ChatRequest& chat);

}  // namespace clasp::serve
