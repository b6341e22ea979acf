#include "select/medoids.h"

#include <cmath>
#include <limits>

#include "select/clusters.h"

namespace clasp::selection {

void choose_medoids(const Similarities& similarities, SelectWorkspace::Buffers& buffers) {
    buffers.chosen.clear();
    for (std::size_t k = 0; k + 1 < buffers.member_begin.size(); ++k) {
        const std::span<const std::uint32_t> members = members_of(buffers, k);
        if (members.empty()) continue;
        // Members are rising and share the centre's length: plain comparison of the sums is enough.
        std::uint32_t medoid = members.front();
        for (const std::uint32_t member : members) {
            if (buffers.centre_rows[k][member] > buffers.centre_rows[k][medoid]) medoid = member;
        }
        buffers.chosen.push_back(medoid);
    }
    mark_chosen(similarities.n, buffers);
}

void mark_chosen(std::size_t n, SelectWorkspace::Buffers& buffers) {
    buffers.is_chosen.assign(n, 0);
    for (const std::uint32_t candidate : buffers.chosen) buffers.is_chosen[candidate] = 1;
}

void start_nearest(std::size_t n, std::int32_t one, bool has_pivots, SelectWorkspace::Buffers& buffers) {
    buffers.nearest.assign(n, std::numeric_limits<std::int32_t>::min());
    if (!has_pivots) return;
    for (std::size_t t = 0; t < n; ++t) {
        buffers.nearest[t] =
            static_cast<std::int32_t>(std::lrint(buffers.redundancy[t] * static_cast<float>(one)));
    }
}

std::uint32_t choose_farthest(SelectWorkspace::Buffers& buffers) {
    std::uint32_t farthest = 0;
    bool found = false;
    for (std::uint32_t t = 0; t < buffers.nearest.size(); ++t) {
        if (buffers.is_chosen[t] != 0) continue;
        if (!found || buffers.nearest[t] < buffers.nearest[farthest]) farthest = t;
        found = true;
    }
    buffers.chosen.push_back(farthest);
    buffers.is_chosen[farthest] = 1;
    return farthest;
}

void fill_slots(const Similarities& similarities, std::size_t n_slots, bool has_pivots,
                const Kernels& kernels, SelectWorkspace::Buffers& buffers) {
    if (buffers.chosen.size() >= n_slots) return;
    start_nearest(similarities.n, similarities.one, has_pivots, buffers);
    kernels.max_fixed_rows(similarities.data, similarities.stride, buffers.chosen.data(),
                           buffers.chosen.size(), similarities.n, buffers.nearest.data());
    while (buffers.chosen.size() < n_slots) {
        const std::uint32_t farthest = choose_farthest(buffers);
        kernels.max_fixed_rows(similarities.data, similarities.stride, &farthest, 1, similarities.n,
                               buffers.nearest.data());
    }
}

}  // namespace clasp::selection
