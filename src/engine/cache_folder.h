// Files that stay on disk between runs, vision layers, prefixes, packed weights and times: which of a
// folder's are ours, and how to remove them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clasp/status.h"

namespace clasp::engine {

struct CacheFile {
    std::string name;  // inside the folder
    std::size_t n_bytes = 0;
    double age_seconds = 0.0;  // since it was written; never below 0
};

// Files that the program wrote, oldest first: regular files whose name is a key with an ending of ours and
// that begin as such files do; and what interrupted writes left behind, once it is an hour old. Errors:
// not_found (no such folder), invalid_argument (no folder), unavailable.
Result<std::vector<CacheFile>> list_cache(const std::string& folder);

// Removes those and returns them. Nothing else in the folder is touched.
Result<std::vector<CacheFile>> clear_cache(const std::string& folder);

}  // namespace clasp::engine
