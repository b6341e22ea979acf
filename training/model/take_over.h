// A model of clips from a model of pictures.
#pragma once

#include "model/model.h"

namespace clasp::training {

// Copies what both have. A shallower model gets those of the old blocks that growing would have kept; the
// position table shrinks to its middle. What only the new model has (temporal parts) stays as it was made.
void take_over(const Model& from, Model& to);

}  // namespace clasp::training
