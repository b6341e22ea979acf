// What a method does where, told by its own program. Nothing is stated twice: a method that is added to the
// registry describes itself.
#pragma once

#include <string>
#include <vector>

#include "methods/method.h"

namespace clasp::methods {

struct Description {
    // In order: "inside the encoder", "after the encoder", "after the projector", "decoder". Never empty.
    std::vector<std::string> sites;
    std::vector<std::size_t> layers;  // of the decoder where tokens leave, for the shape below
    StageMode mode = StageMode::Before;
    PositionMode positions = PositionMode::Keep;  // as in the authors' code
    bool drops = false;
};

// For LLaVA-1.5-7B's shape (576 patches, 32 decoder layers) at 192 tokens and the method's default options.
Result<Description> describe(const Method& method);

}  // namespace clasp::methods
