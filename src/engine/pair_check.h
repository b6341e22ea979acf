// Whether a text model and a vision file can be used together.
#pragma once

#include <cstddef>
#include <string>

#include "clasp/status.h"

namespace clasp::engine {

struct TextSide {
    std::string path;
    std::size_t width = 0;
    std::size_t context_length = 0;
    std::size_t n_deepstack = 0;
};

struct VisionSide {
    std::string path;
    std::size_t output_width = 0;
    std::size_t n_tokens = 0;  // of one picture
    std::size_t n_branches = 0;
};

// Error: invalid_argument; the message names both files and what differs.
Status check_pair(const TextSide& text, const VisionSide& vision);

}  // namespace clasp::engine
