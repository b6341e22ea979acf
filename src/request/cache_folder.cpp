#include "request/cache_folder.h"

#include "base/cache_files.h"

namespace clasp::request {

Result<std::string> cache_folder(const std::string& word) {
    if (word != kUsualCache) return word;
    std::string folder = base::usual_cache_folder("features");
    if (!folder.empty()) return folder;
    return Status(Code::InvalidArgument,
                  "the cache 'auto' needs XDG_CACHE_HOME or HOME to be set; name a folder instead");
}

}  // namespace clasp::request
