#include "serve/page.h"

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

std::span<const std::pair<std::string_view, std::string_view>> page_headers() {
    return kPageHeaders;
}

}  // namespace clasp::serve
