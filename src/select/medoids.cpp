#include "select/medoids.h"

#include <cmath>
#include <limits>

namespace clasp::selection {

void choose_medoids(const Similarities& similarities, SelectWorkspace::Buffers& buffers) {
    buffers.chosen.clear();
    for (std::size_t k = 0; k + 1 < buffers.member_begin.size(); ++k) {
        const std::uint32_t begin = buffers.member_begin[k];
        const std::uint32_t end = buffers.member_begin[k + 1];
        if (begin == end) continue;
        // Members are rising and share the centre's length: plain comparison of the sums is enough.
        std::uint32_t medoid = buffers.members[begin];
        for (std::uint32_t m = begin + 1; m < end; ++m) {
            const std::uint32_t member = buffers.members[m];
            if (buffers.centre_rows[k][member] > buffers.centre_rows[k][medoid]) medoid = member;
        }
        buffers.chosen.push_back(medoid);
    }
    buffers.is_chosen.assign(similarities.n, 0);
    for (const std::uint32_t candidate : buffers.chosen) buffers.is_chosen[candidate] = 1;
}

void fill_slots(const Similarities& similarities, std::size_t n_slots, bool has_pivots,
                const Kernels& kernels, SelectWorkspace::Buffers& buffers) {
    if (buffers.chosen.size() >= n_slots) return;
    std::vector<std::int32_t>& nearest = buffers.nearest;
    nearest.assign(similarities.n, std::numeric_limits<std::int32_t>::min());
    if (has_pivots) {
        const auto one = static_cast<float>(similarities.one);
        for (std::size_t t = 0; t < similarities.n; ++t) {
            nearest[t] = static_cast<std::int32_t>(std::lrint(buffers.redundancy[t] * one));
        }
    }
    kernels.max_fixed_rows(similarities.data, similarities.stride, buffers.chosen.data(),
                           buffers.chosen.size(), similarities.n, nearest.data());
    while (buffers.chosen.size() < n_slots) {
        std::uint32_t farthest = 0;
        bool found = false;
        for (std::uint32_t t = 0; t < similarities.n; ++t) {
            if (buffers.is_chosen[t] != 0) continue;
            if (!found || nearest[t] < nearest[farthest]) farthest = t;
            found = true;
        }
        buffers.chosen.push_back(farthest);
        buffers.is_chosen[farthest] = 1;
        kernels.max_fixed_rows(similarities.data, similarities.stride, &farthest, 1, similarities.n,
                               nearest.data());
    }
}

}  // namespace clasp::selection
