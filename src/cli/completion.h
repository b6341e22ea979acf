// Completion for shells, made from the option table.
#pragma once

#include <string>

namespace clasp::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace clasp::cli
