// How Qwen's models choose the size of a picture: both sides become multiples of a token's side, and the
// number of tokens stays between two limits while the aspect changes as little as that allows.
#pragma once

#include <cstddef>

#include "clasp/fuse.h"
#include "clasp/image.h"
#include "clasp/status.h"

namespace clasp::model {

struct SmartResize {
    int token_side = 0;  // pixels
    std::size_t min_tokens = 0;
    std::size_t max_tokens = 0;
    double max_pixels = 0.0;  // instead of max_tokens, for limits that are no whole tokens; 0: none
};

// The original refuses pictures whose sides differ by more than this.
inline constexpr int kMaxAspect = 200;

// Original: in double precision, halves to even, aspects above kMaxAspect are an InvalidArgument.
// LlamaCpp: in single precision, halves away from zero, any aspect.
// A side is at least one token, so that thin pictures may have fewer or more tokens than the limits say.
// Error: limits that contradict each other.
Result<PixelSize> smart_resize(PixelSize picture, const SmartResize& rule, Compat compat);

}  // namespace clasp::model
