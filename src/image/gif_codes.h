// The codes of a GIF frame, walked over without decoding them.
#pragma once

#include <cstddef>

#include "image/decoders.h"

namespace clasp::image {

// Counts the codes that clear the table in the data of a frame. `blocks` begins with the first sub-block,
// `code_bits` is the byte before it, and the walk ends with the frame's data, at its end code or at
// max_codes. giflib forgets its whole table at every such code, which takes as long as thousands of pixels,
// and a file may consist of nothing else.
std::size_t count_clear_codes(Bytes blocks, unsigned code_bits, std::size_t max_codes);

}  // namespace clasp::image
