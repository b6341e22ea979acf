// Every kernel that this processor has against the scalar one, bit for bit. A program without a framework,
// because it is compiled for another processor and run in an emulator; scripts/check-arm does both.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "model/quant_matrix.h"

namespace {

using namespace clasp::model;

struct Shape {
    std::size_t n_inputs;
    std::size_t n_outputs;
    std::size_t n_rows;
};

std::vector<float> random_floats(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

// Results that differ from the scalar ones. Extremes: all weights and inputs as large as they can be.
int differences(ggml_type type, const Shape& shape, bool is_extreme) {
    const QuantFormat& format = *find_quant_format(type);
    std::vector<float> weights = random_floats(shape.n_inputs * shape.n_outputs, 1);
    std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 2);
    if (is_extreme) {
        for (float& weight : weights) weight = std::copysign(3.0F, weight);
        for (float& value : x) value = std::copysign(127.0F, value);
    }
    std::vector<std::uint8_t> stored(ggml_row_size(type, static_cast<std::int64_t>(shape.n_inputs)) *
                                     shape.n_outputs);
    ggml_quantize_chunk(type, weights.data(), stored.data(), 0, static_cast<std::int64_t>(shape.n_outputs),
                        static_cast<std::int64_t>(shape.n_inputs), nullptr);
    const auto matrix = QuantMatrix::create(format, shape.n_inputs, shape.n_outputs);
    matrix->pack(stored.data(), 0, matrix->n_panels());
    QuantRows rows = {shape.n_inputs, shape.n_rows, format.rows, nullptr};
    std::vector<std::uint64_t> memory(rows.bytes() / sizeof(std::uint64_t) + 1);
    rows.memory = reinterpret_cast<std::uint8_t*>(memory.data());
    rows.round(x.data(), shape.n_inputs, 0, 1);
    std::vector<float> wanted(shape.n_rows * shape.n_outputs);
    matrix->multiply(rows, nullptr, 0, 1, wanted.data(), KernelSet::Scalar);
    int n = 0;
    for (const KernelSet kernels : kernel_sets()) {
        std::vector<float> got(wanted.size(), NAN);
        matrix->multiply(rows, nullptr, 0, 1, got.data(), kernels);
        for (std::size_t i = 0; i < got.size(); ++i) n += got[i] == wanted[i] ? 0 : 1;
    }
    return n;
}

}  // namespace

int main() {
    constexpr std::array kTypes = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                   GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K,
                                   GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};
    int n_failed = 0;
    for (const ggml_type type : kTypes) {
        const std::size_t tail = find_quant_format(type)->n_parts == 0 ? 32 : 0;
        int n = 0;
        for (const Shape& shape : {Shape{256, 16, 1}, Shape{256 + 3 * tail, 37, 4}, Shape{512, 5, 13},
                                   Shape{768 + tail, 16, 9}, Shape{256, 50, 6}, Shape{512, 33, 7}}) {
            n += differences(type, shape, false) + differences(type, shape, true);
        }
        std::printf("%-6s %zu sets of kernels: %d results differ\n", ggml_type_name(type),
                    kernel_sets().size(), n);
        n_failed += n > 0 ? 1 : 0;
    }
    std::printf("%zu passed, %d failed\n", kTypes.size() - static_cast<std::size_t>(n_failed), n_failed);
    return n_failed > 0 || kernel_sets().size() < 2 ? 1 : 0;
}
