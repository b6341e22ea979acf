// The web page on "/" and its files on "/ui/...". They need no key: they hold nothing of anybody's.
#pragma once

#include <string>

#include "serve/endpoints.h"

namespace clasp::serve {

// folder: the files are read from there each time, for those who work on them; empty: those of the program.
void add_page_endpoints(Endpoints& endpoints, const std::string& folder = {});

}  // namespace clasp::serve
