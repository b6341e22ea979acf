// The web page on "/" and its files on "/ui/...". They need no key: they hold nothing of anybody's.
#pragma once

#include "serve/endpoints.h"

namespace clasp::serve {

void add_page_endpoints(Endpoints& endpoints);

}  // namespace clasp::serve
