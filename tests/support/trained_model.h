// A trained text model, where scripts/fetch-tinyllama has put it.
#pragma once

#include <cstdlib>
#include <string>

namespace clasp::test {

// The path, whether or not a file is there; empty when there is no home to look in.
inline std::string tinyllama_path() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache == nullptr && home == nullptr) return {};
    const std::string folder = cache != nullptr ? cache : std::string(home) + "/.cache";
    return folder + "/clasp/models/tinyllama-1.1b-chat.gguf";
}

}  // namespace clasp::test
