// Routes of our own: what the server can do, the class of a question, pictures encoded ahead of their
// question; and the routes of others that are refused by name.
#pragma once

#include "serve/endpoints.h"
#include "serve/service.h"

namespace clasp::serve {

// The service must outlive the endpoints.
void add_own_endpoints(Endpoints& endpoints, Service& service);
// 501: what nobody may do with this server, or what it does not do.
void add_refused_endpoints(Endpoints& endpoints);

}  // namespace clasp::serve
