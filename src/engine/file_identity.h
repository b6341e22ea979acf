// Tells one weight file from another without reading all of it.
#pragma once

#include <string>

#include "clasp/status.h"

namespace clasp::engine {

// 64 hexadecimal digits over the file's size, its first and last MiB and 62 pieces of 64 KiB spread evenly
// between them. Files that share all of those count as one; a model that was trained or quantised
// differently does not.
Result<std::string> file_identity(const std::string& path);

}  // namespace clasp::engine
