// llama-server's endpoints about text before it is an answer: tokens of a text, the text of tokens, the
// prompt of a conversation and how long it is.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_text_endpoints(Endpoints& endpoints, Service& service);

// Tokens of a request's prompt with nothing pruned.
Check count_prompt(const Service& service, const ChatRequest& chat, const HttpRequest& http,
                   std::size_t& n_tokens);

}  // namespace clasp::serve
