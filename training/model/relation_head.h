// A third auxiliary task: where a question has named its second thing, the decoder's stream near the top must
// tell how far the first lies from it. Whether something is left or right cannot be learned before both
// positions are brought together, and a difference can be learned from the first step on.
#pragma once

#include <array>
#include <vector>

#include "model/shape.h"
#include "nn/arena.h"
#include "nn/linear.h"

namespace clasp::training {

struct RelationTarget {
    int row = 0;                   // of the packed text
    std::array<float, 2> apart{};  // rows and columns from the second thing to the first, over half the table
};

class RelationHead {
   public:
    RelationHead(ParamStore& store, const ModelShape& shape);

    // Squared error over `stream` (rows x width), `weight` per target; returns the loss. With `gradient` not
    // null (same shape) adds the gradient of the stream and of the head.
    double run(ParamStore& store, const float* stream, const std::vector<RelationTarget>& targets,
               float weight, float* gradient, Arena& arena) const;

   private:
    int width_;
    ParamId norm_w_;
    Linear head_;
};

}  // namespace clasp::training
