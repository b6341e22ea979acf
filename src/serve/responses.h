// OpenAI's Responses, whole and as a stream of events; nothing is kept of them.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_responses_endpoints(Endpoints& endpoints, Service& service);

}  // namespace clasp::serve
