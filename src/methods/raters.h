// SparseVLM's choice of the text tokens that rate visual ones.
#pragma once

#include <cstddef>
#include <vector>

#include "clasp/select.h"

namespace clasp::methods {

// Input embeddings of the visual tokens and of the text after the image, of one width. A visual token
// spreads its attention over the text (softmax of plain products); a text token that receives more than the
// mean is a rater. Rising; all text tokens when none does. text is not empty.
std::vector<std::size_t> text_raters(const FeatureView& visual, const FeatureView& text);

}  // namespace clasp::methods
