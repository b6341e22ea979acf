// What one core can do at most in integers, and how fast it reads memory: the roofs of
// bench/decoder_gemm.cpp.
#pragma once

#include <cstddef>

namespace clasp::bench {

// 1e9 operations per second, a multiplication and an addition counted as two, of instructions that never
// leave the registers. 0 where the processor lacks them. Take the best of several calls.
double byte_pair_gops();  // AVX2: vpmaddubsw and vpaddw, two instructions for 32 products
double byte_dot_gops();   // AVX-512 VNNI: vpdpbusd, one instruction for 64 products
// 1e9 bytes per second of one pass over n_bytes of memory.
double read_gbytes(const void* memory, std::size_t n_bytes);

// Processor time of this thread.
double processor_ns();

}  // namespace clasp::bench
