// MustDrop inside the encoder: after the first block windows of patches that look alike become one, and
// after the last block the most attended patches are marked as never to be dropped.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

struct MustdropWindows {
    std::size_t window = 3;  // side in patches
    // Windows whose mean similarity is at least this are merged ...
    double threshold = 0.8;
    // ... or exactly this many, most similar first, whatever the threshold.
    std::optional<std::size_t> count;
};

// gram: cosines of the patches' hidden states. Emits merged windows, most similar first and each as the mean
// of its patches at the place of its last one, then the other patches in raster order.
// Errors: Unsupported when the grid does not divide into windows; InvalidArgument for wrong shapes and
// options, NaN or infinity, or more windows than there are.
Result<Plan> mustdrop_merge(const GramView& gram, std::size_t rows, std::size_t columns,
                            const MustdropWindows& options);

// The patches never to be dropped: the most attended share of them, rounded up; rising. class_attention: the
// class token's row of the last block, mean over heads.
Result<std::vector<TokenIndex>> mustdrop_key_tokens(std::span<const float> class_attention,
                                                    double share = 0.08);

}  // namespace clasp::methods
