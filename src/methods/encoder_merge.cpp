#include "methods/encoder_merge.h"

#include <algorithm>
#include <string>

#include "methods/ranking.h"

namespace clasp::methods {

Result<std::vector<std::size_t>> spread_over_blocks(std::size_t n_patches, std::size_t keep,
                                                    std::size_t n_blocks, bool halves) {
    CLASP_RETURN_IF_ERROR(check_budget(keep, n_patches));
    if (keep >= n_patches) return std::vector<std::size_t>(n_blocks, n_patches);

    std::size_t smallest = n_patches;
    for (std::size_t b = 0; b < n_blocks; ++b) smallest = halves ? (smallest + 1) / 2 : 1;
    if (keep < smallest) {
        return Status(Code::InvalidArgument, "merging in " + std::to_string(n_blocks) +
                                                 " blocks leaves at least " + std::to_string(smallest) +
                                                 " of " + std::to_string(n_patches) +
                                                 " patches, so the budget cannot be " + std::to_string(keep));
    }
    // most[b]: more than this after block b could not be brought down to keep.
    std::vector<std::size_t> most(n_blocks, keep);
    for (std::size_t b = n_blocks - 1; b > 0; --b) {
        most[b - 1] = halves ? std::min(n_patches, 2 * most[b]) : n_patches;
    }
    std::vector<std::size_t> left(n_blocks);
    std::size_t before = n_patches;
    for (std::size_t b = 0; b < n_blocks; ++b) {
        const std::size_t even = n_patches - (b + 1) * (n_patches - keep) / n_blocks;
        const std::size_t least = halves ? (before + 1) / 2 : 1;
        left[b] = std::max(std::min(even, most[b]), least);
        before = left[b];
    }
    return left;
}

}  // namespace clasp::methods
