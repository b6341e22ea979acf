// Private. Splits columns or rows over the pool so that a result never depends on the split.
#pragma once

#include <algorithm>
#include <cstddef>

#include "clasp/thread_pool.h"

namespace clasp::selection {

// Items per part: a multiple of every vector width, small enough to balance.
inline constexpr std::size_t kBlockItems = 256;

// Below this many additions a loop is over before another thread wakes up.
inline constexpr std::size_t kParallelWork = std::size_t{1} << 20;

// Calls f(begin, end) for consecutive blocks that cover 0 ... n - 1: one block without threads,
// several when the work (in additions) is worth it. f must treat every item by itself.
template <typename F>
void for_blocks(ThreadPool* pool, std::size_t n, std::size_t work, F f) {
    if (pool == nullptr || work < kParallelWork) {
        f(std::size_t{0}, n);
        return;
    }
    pool->run((n + kBlockItems - 1) / kBlockItems,
              [&](std::size_t part) { f(part * kBlockItems, std::min(n, (part + 1) * kBlockItems)); });
}

}  // namespace clasp::selection
