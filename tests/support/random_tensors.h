// Tensors with random weights for made-up vision files: the same numbers on every machine, made when the file
// is written, so that a file of any size needs little memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ggml.h"
#include "support/gguf_writer.h"

namespace clasp::test {

// xorshift64*: fast enough for hundreds of millions of weights, the same on every machine.
class VisionRandom {
   public:
    explicit VisionRandom(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567ULL) {}

    // Uniform with the given standard deviation.
    float next(float deviation);

   private:
    std::uint64_t state_;
};

struct RandomTensors {
    GgufWriter writer = {};
    ggml_type matrix_type = GGML_TYPE_F16;
    std::size_t outlier_channels = 0;  // of norms: far larger than the rest
    std::uint64_t next_seed = 0;

    // A matrix whose output has about `gain` times the size of its input, and its bias, if it has one.
    void linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, float gain,
                bool has_bias = true);
    // A patch kernel. It has rows that quantised types cannot hold; converters keep it in F16.
    void kernel(const std::string& name, const std::vector<std::int64_t>& shape);
    void norm(const std::string& name, std::int64_t width, bool has_bias = true);
    void values(const std::string& name, const std::vector<std::int64_t>& shape, float mean, float deviation);

    void matrix(const std::string& name, const std::vector<std::int64_t>& shape, ggml_type type,
                float deviation) {
        add(name, shape, type, 0.0F, deviation, shape[0]);
    }

   private:
    void add(const std::string& name, const std::vector<std::int64_t>& shape, ggml_type type, float mean,
             float deviation, std::int64_t row);
};

}  // namespace clasp::test
