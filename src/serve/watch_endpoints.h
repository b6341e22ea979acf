// llama-server's endpoints for those who watch: figures, properties and slots.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_watch_endpoints(Endpoints& endpoints, Service& service);

}  // namespace clasp::serve
