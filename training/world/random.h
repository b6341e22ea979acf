// A small counter-free generator whose sequence is fixed by its seed on every platform.
// The standard library's distributions are not used: their output differs between libraries.
#pragma once

#include <cstdint>

namespace clasp::world {

// Mixes two words into one; used to derive independent streams from (seed, index, ...).
constexpr std::uint64_t mix_seed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t z = a + 0x9e3779b97f4a7c15ULL * (b + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(mix_seed(seed, 0x5eed)) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        return mix_seed(state_, 0);
    }

    // Uniform in [0, n); n must be positive.
    int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

    // Uniform in [0, 1).
    float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24F; }
    float range(float low, float high) { return low + (high - low) * uniform(); }
    bool chance(float probability) { return uniform() < probability; }

   private:
    std::uint64_t state_;
};

}  // namespace clasp::world
