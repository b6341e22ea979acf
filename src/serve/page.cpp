#include "serve/page.h"

#include <algorithm>
#include <array>

namespace clasp::serve {

namespace {

#include "page_table.inc"  // kPageFiles, made by cmake/ClaspPage.cmake

using Header = std::pair<std::string_view, std::string_view>;

constexpr std::array<Header, 5> kPageHeaders = {
    Header{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src "
           "'self'; "
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    Header{"Referrer-Policy", "no-referrer"}, Header{"Cross-Origin-Opener-Policy", "same-origin"},
    Header{"Cross-Origin-Resource-Policy", "same-origin"}, Header{"Cache-Control", "no-cache"}};

}  // namespace

std::span<const PageFile> page_files() {
    return kPageFiles;
}

const PageFile* find_page_file(std::string_view path) {
    const auto* const found = std::find_if(std::begin(kPageFiles), std::end(kPageFiles),
                                           [&](const PageFile& file) { return file.path == path; });
    return found == std::end(kPageFiles) ? nullptr : found;
}

std::span<const std::pair<std::string_view, std::string_view>> page_headers() {
    return kPageHeaders;
}

}  // namespace clasp::serve
