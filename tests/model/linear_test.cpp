// Matrices of vision towers in 8 bits: their products as nodes of a graph.
#include "model/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "model/backend.h"
#include "model/vision_tower.h"
#include "model/vision_weights.h"
#include "support/vision_fixture.h"

namespace clasp::model {
namespace {

constexpr std::size_t kInputs = 608;  // more than two chunks, the last one short
constexpr std::size_t kOutputs = 75;  // no whole panels
constexpr std::size_t kRows = 71;     // chunks are unpacked, tiles are not full

std::vector<float> some_values(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

struct EightBits {
    std::vector<float> weights = some_values(kInputs * kOutputs, 1);
    std::vector<float> x = some_values(kInputs * kRows, 2);
    std::vector<float> bias = some_values(kOutputs, 3);
    std::unique_ptr<QuantMatrix> matrix;

    EightBits() {
        std::vector<std::uint8_t> stored(ggml_row_size(GGML_TYPE_Q8_0, kInputs) * kOutputs);
        ggml_quantize_chunk(GGML_TYPE_Q8_0, weights.data(), stored.data(), 0, kOutputs, kInputs, nullptr);
        matrix = QuantMatrix::create(*find_quant_format(GGML_TYPE_Q8_0), kInputs, kOutputs);
        matrix->pack(stored.data(), 0, matrix->n_panels());
    }
};

// activation(W x + b) by the nodes of a graph.
std::vector<float> run_linear(const EightBits& problem, LinearActivation activation, int n_threads) {
    const auto compute =
        Compute::create({.n_threads = static_cast<std::size_t>(n_threads), .use_gpu = false});
    EXPECT_TRUE(compute.ok());
    ggml_context* context = ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true});
    ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, kInputs, kRows);
    ggml_tensor* bias = ggml_new_tensor_1d(context, GGML_TYPE_F32, kOutputs);
    ggml_tensor* y = build_linear(context, {.quant = problem.matrix.get(), .bias = bias}, x, activation);
    ggml_cgraph* graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, y);
    ggml_backend_t backend = ggml_backend_dev_init((*compute)->cpu(), nullptr);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(context, backend);
    ggml_backend_tensor_set(x, problem.x.data(), 0, ggml_nbytes(x));
    ggml_backend_tensor_set(bias, problem.bias.data(), 0, ggml_nbytes(bias));
    auto* set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg((*compute)->cpu()), "ggml_backend_set_n_threads"));
    EXPECT_NE(set_threads, nullptr);
    set_threads(backend, n_threads);
    EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
    std::vector<float> result(kOutputs * kRows);
    ggml_backend_tensor_get(y, result.data(), 0, ggml_nbytes(y));
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    ggml_free(context);
    return result;
}

TEST(LinearInEightBits, HasTheBitsOfTheScalarProduct) {
    const EightBits problem;
    QuantRows rows = {kInputs, kRows, problem.matrix->format().rows, nullptr};
    std::vector<std::uint32_t> memory(rows.bytes() / sizeof(std::uint32_t) + 1);
    rows.memory = reinterpret_cast<std::uint8_t*>(memory.data());
    rows.round(problem.x.data(), kInputs, 0, 1, KernelSet::Scalar);
    std::vector<float> wanted(kOutputs * kRows);
    problem.matrix->multiply(rows, problem.bias.data(), 0, 1, wanted.data(), KernelSet::Scalar);
    for (const int n_threads : {1, 3})
        EXPECT_EQ(run_linear(problem, LinearActivation::None, n_threads), wanted);
}

// Both sides are rounded to eight bits, 32 numbers at a time: to about half a 127th of the largest of each.
TEST(LinearInEightBits, IsCloseToTheExactProduct) {
    const EightBits problem;
    const std::vector<float> got = run_linear(problem, LinearActivation::None, 1);
    double difference = 0.0;
    double total = 0.0;
    for (std::size_t row = 0; row < kRows; ++row) {
        for (std::size_t output = 0; output < kOutputs; ++output) {
            auto wanted = static_cast<double>(problem.bias[output]);
            for (std::size_t i = 0; i < kInputs; ++i) {
                wanted += static_cast<double>(problem.x[row * kInputs + i]) *
                          static_cast<double>(problem.weights[output * kInputs + i]);
            }
            const double error = static_cast<double>(got[row * kOutputs + output]) - wanted;
            difference += error * error;
            total += wanted * wanted;
        }
    }
    const double error = std::sqrt(difference / total);
    EXPECT_LT(error, 1e-2);
    EXPECT_GT(error, 1e-3) << "these are no eight bits";
}

TEST(LinearInEightBits, ActivatesAsTheOtherFormsDo) {
    const EightBits problem;
    const std::vector<float> plain = run_linear(problem, LinearActivation::None, 1);
    const std::vector<float> activated = run_linear(problem, LinearActivation::Silu, 1);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        const double x = static_cast<double>(plain[i]);
        EXPECT_NEAR(static_cast<double>(activated[i]), x / (1.0 + std::exp(-x)), 1e-4) << i;
    }
}

// Rows of 588 pixels of a patch are no whole blocks: those stay in half precision.
TEST(LinearInEightBits, EveryMatrixOfWholeBlocksIsKeptSo) {
    if (!QuantMatrix::is_fast()) GTEST_SKIP() << "no kernels for this processor";
    test::MmprojSpec spec;
    spec.matrix_type = GGML_TYPE_F16;
    const std::string file = test::random_mmproj(spec);
    const auto reader = GgufReader::parse(test::bytes_of(file));
    const auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    ASSERT_TRUE(reader.ok() && compute.ok());
    const auto tower = open_vision_tower(*reader);
    ASSERT_TRUE(tower.ok());
    const std::vector<WeightSpec> specs = (*tower)->specs();
    const auto store = WeightStore::load(*reader, specs, VisionWeights::Q8, **compute, nullptr, {});
    ASSERT_TRUE(store.ok()) << store.status().message();
    std::size_t n_kept = 0;
    for (const WeightSpec& one : specs) {
        if (one.use != WeightSpec::Use::Matrix || one.type) continue;
        const std::int64_t width = one.padded_width != 0 ? one.padded_width : one.width;
        const Linear linear = (*store)->linear(one.name);
        EXPECT_EQ(linear.quant != nullptr, width % 32 == 0) << one.name;
        EXPECT_EQ(linear.packed, nullptr) << one.name;
        n_kept += linear.quant != nullptr ? 1 : 0;
    }
    EXPECT_GT(n_kept, 4U);
}

}  // namespace
}  // namespace clasp::model
