// FiCoCo-V: in the second half of the encoder's blocks, between attention and feed-forward, the tokens that
// the others attend to and the class token does not are merged into those they attend to.
#pragma once

#include <span>
#include <vector>

#include "clasp/status.h"
#include "methods/plan.h"

namespace clasp::methods {

// Where the paper and the authors' code differ: the share of the class token in what makes a token worth
// keeping, and whether a token's attention to others or that of others to it counts.
enum class FicocoFaithful {
    Code,   // 0.35 of the class token, attention to others
    Paper,  // 0.65 of the class token, attention of others
};

struct FicocoOptions {
    FicocoFaithful faithful = FicocoFaithful::Code;
    std::size_t window = 2;          // side of the windows whose most redundant token counts double
    double target_quantile = 0.998;  // of a token's logits: those above are where it goes
};

// What a block shows, all borrowed. The patches are the current ones in raster order.
struct FicocoInput {
    const float* logits = nullptr;        // patches x patches, scaled, before softmax, mean over heads
    std::size_t stride = 0;               // floats from one row to the next
    std::span<const float> class_logits;  // the class token's row over the patches
    std::span<const TokenIndex> origins;  // original patch of each current one, rising
    std::size_t rows = 0;                 // the original grid
    std::size_t columns = 0;
};

// Removes exactly n_removed patches, each into the patches above its quantile, weighed by softmax; one whose
// targets are all removed too is dropped. Raster order stays. Indices count the current patches.
// Errors: InvalidArgument for wrong shapes and options, NaN or infinity, or when no patch would stay.
Result<Plan> ficoco_step(const FicocoInput& input, std::size_t n_removed, const FicocoOptions& options);

}  // namespace clasp::methods
