// Anthropic's Messages, whole and as a stream of events, and how long their prompts are.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_anthropic_endpoints(Endpoints& endpoints, Service& service);

}  // namespace clasp::serve
