// Pictures that a request names by their path, below one folder and nowhere else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "clasp/status.h"

namespace clasp::request {

// The path below `folder` that is meant: "file://a/b.png", "file:////a//b.png" and "a/b.png" are a/b.png, and
// an absolute path that begins with the folder is that file. Errors (invalid_argument): "..", a NUL, a
// backslash, "%2e", an empty path.
Result<std::string> media_path(std::string_view name, const std::string& folder);

// The bytes of that regular file. No link leads out of the folder. Errors: those of media_path(), not_found
// for whatever cannot be opened, too_large. No message has more of the path than `name` has.
Result<std::string> read_media_file(std::string_view name, const std::string& folder, std::size_t max_bytes);

}  // namespace clasp::request
