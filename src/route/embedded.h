// The data files of this folder as they were at build time.
#pragma once

#include <string_view>

namespace clasp::route {

std::string_view embedded_lexicon();
std::string_view embedded_taxonomy();
std::string_view embedded_rules();
std::string_view embedded_languages();
std::string_view embedded_model();

}  // namespace clasp::route
