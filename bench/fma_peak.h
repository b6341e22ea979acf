// What one core can do at most: fused multiply-adds that never leave the registers.
#pragma once

namespace clasp::bench {

// Runs for about a millisecond and returns 1e9 floating-point operations per second, counting a
// multiply-add as two. Take the best of several calls.
double fma_gflops();

}  // namespace clasp::bench
