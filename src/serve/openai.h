// OpenAI's routes: chat completions, whole and streamed, and the list of models.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_openai_endpoints(Endpoints& endpoints, Service& service);

}  // namespace clasp::serve
