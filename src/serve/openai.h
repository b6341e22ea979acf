// OpenAI's routes: chat completions, whole and streamed, and the list of models.
#pragma once

#include "serve/router.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the router.
void add_openai_routes(Router& router, Service& service);

}  // namespace clasp::serve
