// A file of the web page by the path that it is served at.
#pragma once

#include <algorithm>
#include <string_view>

#include "serve/page.h"

namespace clasp::test {

// Null when there is none.
inline const serve::PageFile* find_page_file(std::string_view path) {
    const auto files = serve::page_files();
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const serve::PageFile& file) { return file.path == path; });
    return found == files.end() ? nullptr : &*found;
}

}  // namespace clasp::test
