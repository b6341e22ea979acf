// The confusion matrix as a picture for the documentation.
#pragma once

#include <string>
#include <vector>

#include "clasp/route.h"

namespace clasp::cli {

// SVG: one row per label, one column per most probable class; shade and number give the share of the
// row in per cent, small numbers below it the count.
std::string confusion_svg(const std::vector<RouteClass>& classes,
                          const std::vector<std::vector<std::size_t>>& confusion);

}  // namespace clasp::cli
