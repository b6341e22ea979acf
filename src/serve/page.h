// The web page: the files of ui/, which live in the program.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace clasp::serve {

struct PageFile {
    std::string_view path;  // "/" for index.html, else "/ui/NAME"
    std::string_view type;  // for Content-Type
    std::string_view etag;  // in its quotes; changes with the bytes
    std::string_view bytes;
};

std::span<const PageFile> page_files();

// Names and values of the headers that go with each of them: nothing is loaded from elsewhere, nothing inline
// runs, no other site may show it in a frame, and browsers ask each time whether their copy is still right.
std::span<const std::pair<std::string_view, std::string_view>> page_headers();

}  // namespace clasp::serve
