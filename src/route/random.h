// splitmix64: small, seeded, and the same on every machine.
#pragma once

#include <cstdint>

namespace clasp::route {

class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30u)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27u)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31u);
    }
    // From 0 up to, but not including, 1.
    float unit() { return static_cast<float>(next() >> 40u) * 0x1p-24f; }

   private:
    std::uint64_t state_;
};

}  // namespace clasp::route
