// Reduction by geometry alone: every baseline that looks at no feature. A lattice or a stride keeps evenly
// spaced patches, pooling takes the means of evenly cut cells.
#pragma once

#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

enum class UniformMode {
    Lattice,  // the middles of a lattice over the grid
    Stride,   // every g-th patch of the raster, g = patches / budget
    Pool,     // means over cells of the grid, which may overlap as in adaptive pooling
};

// How many columns each row of the reduced grid has. A budget that factors into a shape not far from the
// grid's becomes that rectangle (192 of 24 x 24: 16 x 12, 128: 16 x 8); any other gets rows that differ by
// one column at most. Adds up to keep, which is at least 1 and at most rows * columns.
std::vector<std::size_t> uniform_shape(std::size_t rows, std::size_t columns, std::size_t keep);

// Emits exactly keep tokens in raster order, all as they were when keep covers them.
// Errors: InvalidArgument for an empty grid or budget; TooLarge.
Result<Plan> uniform_grid(std::size_t rows, std::size_t columns, std::size_t keep, UniformMode mode);

}  // namespace clasp::methods
