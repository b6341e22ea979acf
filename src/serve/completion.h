// Answers to prompts as they are: llama-server's /completion and OpenAI's /v1/completions.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_completion_endpoints(Endpoints& endpoints, Service& service);

}  // namespace clasp::serve
