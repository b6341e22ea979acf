#include "request/cache_folder.h"

#include <cstdlib>

namespace clasp::request {

namespace {

// Absolute paths only, as the base directory specification wants it.
std::string folder_variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

Result<std::string> cache_folder(const std::string& word) {
    if (word != kUsualCache) return word;
    const std::string cache = folder_variable("XDG_CACHE_HOME");
    if (!cache.empty()) return cache + "/clasp/features";
    const std::string home = folder_variable("HOME");
    if (!home.empty()) return home + "/.cache/clasp/features";
    return Status(Code::InvalidArgument,
                  "the cache 'auto' needs XDG_CACHE_HOME or HOME to be set; name a folder instead");
}

}  // namespace clasp::request
