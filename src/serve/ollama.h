// Ollama's routes.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_ollama_endpoints(Endpoints& endpoints, Service& service);

}  // namespace clasp::serve
