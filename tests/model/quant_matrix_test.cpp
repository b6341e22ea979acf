#include "model/quant_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "model/backend.h"
#include "model/quant_kernel.h"

namespace clasp::model {
namespace {

struct Product {
    std::size_t n_inputs;
    std::size_t n_outputs;
    std::size_t n_rows;
};

// Where a stored block has its half-precision numbers.
struct TypeCase {
    ggml_type type;
    std::vector<std::size_t> halves;
};

const std::vector<TypeCase>& type_cases() {
    static const std::vector<TypeCase> cases = {
        {GGML_TYPE_Q4_0, {0}},    {GGML_TYPE_Q4_1, {0, 2}}, {GGML_TYPE_Q5_0, {0}},
        {GGML_TYPE_Q5_1, {0, 2}}, {GGML_TYPE_Q8_0, {0}},    {GGML_TYPE_Q2_K, {80, 82}},
        {GGML_TYPE_Q3_K, {108}},  {GGML_TYPE_Q4_K, {0, 2}}, {GGML_TYPE_Q5_K, {0, 2}},
        {GGML_TYPE_Q6_K, {208}},
    };
    return cases;
}

std::vector<float> random_floats(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

struct Weights {
    std::vector<std::uint8_t> stored;
    std::unique_ptr<QuantMatrix> matrix;
    std::vector<float> values;  // what the file means, n_outputs x n_inputs
};

Weights take(ggml_type type, const Product& shape, std::vector<std::uint8_t> stored) {
    Weights weights;
    weights.stored = std::move(stored);
    weights.matrix = QuantMatrix::create(*find_quant_format(type), shape.n_inputs, shape.n_outputs);
    weights.matrix->pack(weights.stored.data(), 0, weights.matrix->n_panels());
    weights.values.resize(shape.n_inputs * shape.n_outputs);
    ggml_get_type_traits(type)->to_float(weights.stored.data(), weights.values.data(),
                                         static_cast<std::int64_t>(weights.values.size()));
    return weights;
}

std::size_t stored_bytes(ggml_type type, const Product& shape) {
    return ggml_row_size(type, static_cast<std::int64_t>(shape.n_inputs)) * shape.n_outputs;
}

Weights random_weights(ggml_type type, const Product& shape) {
    const std::vector<float> values = random_floats(shape.n_inputs * shape.n_outputs, 7);
    std::vector<std::uint8_t> stored(stored_bytes(type, shape));
    ggml_quantize_chunk(type, values.data(), stored.data(), 0, static_cast<std::int64_t>(shape.n_outputs),
                        static_cast<std::int64_t>(shape.n_inputs), nullptr);
    return take(type, shape, std::move(stored));
}

// All bytes the same, and 1 for every half-precision number.
Weights uniform_weights(const TypeCase& wanted, const Product& shape, std::uint8_t byte) {
    std::vector<std::uint8_t> stored(stored_bytes(wanted.type, shape), byte);
    const ggml_fp16_t one = ggml_fp32_to_fp16(1.0F);
    const std::size_t block = ggml_type_size(wanted.type);
    for (std::size_t i = 0; i < stored.size(); i += block) {
        for (const std::size_t half : wanted.halves) std::memcpy(stored.data() + i + half, &one, sizeof(one));
    }
    return take(wanted.type, shape, std::move(stored));
}

struct Rounded {
    std::vector<std::uint32_t> memory;
    QuantRows rows;
};

Rounded round_rows(const std::vector<float>& x, const Product& shape, QuantRowKind kind,
                   KernelSet kernels = fastest_kernels(), std::size_t n_parts = 1) {
    Rounded rounded;
    rounded.rows = {shape.n_inputs, shape.n_rows, kind, nullptr};
    rounded.memory.assign(rounded.rows.bytes() / sizeof(std::uint32_t), 0U);
    rounded.rows.memory = reinterpret_cast<std::uint8_t*>(rounded.memory.data());
    for (std::size_t part = 0; part < n_parts; ++part) {
        rounded.rows.round(x.data(), shape.n_inputs, part, n_parts, kernels);
    }
    return rounded;
}

std::vector<float> multiply(const Weights& weights, const Rounded& rounded,
                            KernelSet kernels = fastest_kernels(), const float* bias = nullptr,
                            std::size_t n_parts = 1) {
    std::vector<float> y(rounded.rows.n_rows * weights.matrix->n_outputs(), NAN);
    for (std::size_t part = 0; part < n_parts; ++part) {
        weights.matrix->multiply(rounded.rows, bias, part, n_parts, y.data(), kernels);
    }
    return y;
}

// The product with inputs as they are, in double precision.
std::vector<double> exact(const Weights& weights, const std::vector<float>& x, const Product& shape) {
    std::vector<double> y;
    for (std::size_t row = 0; row < shape.n_rows; ++row) {
        for (std::size_t output = 0; output < shape.n_outputs; ++output) {
            double sum = 0.0;
            for (std::size_t i = 0; i < shape.n_inputs; ++i) {
                sum += static_cast<double>(x[row * shape.n_inputs + i]) *
                       static_cast<double>(weights.values[output * shape.n_inputs + i]);
            }
            y.push_back(sum);
        }
    }
    return y;
}

// What rounded inputs stand for.
std::vector<float> meant(const QuantRows& rows) {
    const bool has_one_scale = rows.kind == QuantRowKind::Chunk;
    std::vector<float> x(rows.n_rows * rows.n_inputs);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t row = i / rows.n_inputs;
        const std::size_t input = i % rows.n_inputs;
        const std::size_t chunk = input / kQuantChunk;
        const auto* scales = reinterpret_cast<const float*>(rows.facts(chunk, row));
        const float scale = scales[has_one_scale ? 0 : input % kQuantChunk / kQuantBlock];
        x[i] = scale * static_cast<float>(rows.values(chunk, row)[input % kQuantChunk]);
    }
    return x;
}

double rms_error(const std::vector<float>& got, const std::vector<double>& wanted) {
    double difference = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        difference += std::pow(static_cast<double>(got[i]) - wanted[i], 2);
        total += wanted[i] * wanted[i];
    }
    return std::sqrt(difference / total);
}

QuantRowKind kind_of(ggml_type type) {
    return find_quant_format(type)->rows;
}

class QuantType : public ::testing::TestWithParam<TypeCase> {
   protected:
    [[nodiscard]] ggml_type type() const { return GetParam().type; }
    // Shapes with tails of every sort: outputs that fill no panel, rows that fill no tile, half chunks; rows
    // for which chunks are unpacked and for which they are not.
    [[nodiscard]] std::vector<Product> shapes() const {
        const bool has_blocks = find_quant_format(type())->block_inputs() == kQuantBlock;
        const std::size_t tail = has_blocks ? 32 : 0;
        return {{256, 16, 1}, {256 + 3 * tail, 37, 4}, {512, 1, 13}, {768 + tail, 16, 9},
                {256, 50, 2}, {512 + tail, 18, 75}};
    }
};

TEST_P(QuantType, IsTheProductOfWhatTheFileMeansAndTheRoundedInputs) {
    for (const Product& shape : shapes()) {
        const Weights weights = random_weights(type(), shape);
        const Rounded rounded =
            round_rows(random_floats(shape.n_inputs * shape.n_rows, 3), shape, kind_of(type()));
        // Sums of a block, with which minima are multiplied, are kept in half precision.
        const double tolerance = kind_of(type()) == QuantRowKind::Sum ? 1e-3 : 1e-5;
        EXPECT_LT(rms_error(multiply(weights, rounded), exact(weights, meant(rounded.rows), shape)),
                  tolerance);
    }
}

TEST_P(QuantType, EveryKernelEqualsTheScalarOneBitForBit) {
    for (const Product& shape : shapes()) {
        const Weights weights = random_weights(type(), shape);
        const std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 3);
        const std::vector<float> bias = random_floats(shape.n_outputs, 4);
        const Rounded rounded = round_rows(x, shape, kind_of(type()), KernelSet::Scalar);
        const std::vector<float> wanted = multiply(weights, rounded, KernelSet::Scalar, bias.data());
        for (const KernelSet kernels : kernel_sets()) {
            EXPECT_EQ(round_rows(x, shape, kind_of(type()), kernels).memory, rounded.memory);
            EXPECT_EQ(multiply(weights, rounded, kernels, bias.data()), wanted)
                << "set " << static_cast<int>(kernels);
        }
    }
}

#ifdef __x86_64__
// A processor with AVX-VNNI and AVX-512 runs the first of the two encodings only, unless it is asked.
TEST_P(QuantType, BothEncodingsOfVnniEqualTheScalarKernel) {
    const bool has_avx512 =
        __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
    std::vector<quant::Kernel> encodings;
    if (has_avx_vnni()) encodings.push_back(quant::avxvnni_kernel(*find_quant_format(type())));
    if (has_avx512) encodings.push_back(quant::avx512vl_kernel(*find_quant_format(type())));
    if (encodings.empty()) GTEST_SKIP() << "this processor has neither";
    for (const std::size_t n_rows : {std::size_t{1}, std::size_t{7}, std::size_t{75}}) {
        const Product shape = {kQuantChunk, kQuantPanel, n_rows};
        const Weights weights = random_weights(type(), shape);
        const Rounded rounded =
            round_rows(random_floats(shape.n_inputs * shape.n_rows, 3), shape, kind_of(type()));
        const auto* chunk = reinterpret_cast<const std::uint8_t*>(weights.matrix->packed().data());
        const std::vector<float> zeros(n_rows * kQuantPanel, 0.0F);
        const auto sums = [&](const auto& multiply, const std::uint8_t* from) {
            std::vector<float> result = zeros;
            multiply(from, kQuantChunkBlocks, rounded.rows.values(0, 0), rounded.rows.facts(0, 0), n_rows,
                     result.data());
            return result;
        };
        const std::vector<float> wanted =
            sums(quant::scalar_kernel(*find_quant_format(type())).multiply_packed, chunk);
        EXPECT_NE(wanted, zeros);
        for (const quant::Kernel& kernel : encodings) {
            EXPECT_EQ(sums(kernel.multiply_packed, chunk), wanted) << n_rows;
            if (kernel.unpack == nullptr) continue;
            alignas(64) std::uint8_t unpacked[quant::kUnpackedBytes];
            kernel.unpack(chunk, kQuantChunkBlocks, unpacked);
            EXPECT_EQ(sums(kernel.multiply, unpacked), wanted) << n_rows;
        }
    }
}
#endif

TEST_P(QuantType, PartsAndOtherRowsChangeNoBit) {
    const Product shape = {512, 100, 11};
    const Weights weights = random_weights(type(), shape);
    const std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 3);
    const Rounded rounded = round_rows(x, shape, kind_of(type()));
    const std::vector<float> whole = multiply(weights, rounded);
    EXPECT_EQ(round_rows(x, shape, kind_of(type()), fastest_kernels(), 3).memory, rounded.memory);
    EXPECT_EQ(multiply(weights, rounded, fastest_kernels(), nullptr, 3), whole);
    for (std::size_t row = 0; row < shape.n_rows; ++row) {
        const auto at = [&](const std::vector<float>& all, std::size_t width) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * width);
            return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(width));
        };
        const Rounded alone =
            round_rows(at(x, shape.n_inputs), {shape.n_inputs, shape.n_outputs, 1}, kind_of(type()));
        EXPECT_EQ(multiply(weights, alone), at(whole, shape.n_outputs)) << row;
    }
}

// Every bit of a weight set, or none; every input as large as it can be, of either sign. Sums that did not
// fit would be far off.
TEST_P(QuantType, ExtremesFit) {
    const Product shape = {512, 16, 5};
    std::vector<float> x(shape.n_inputs * shape.n_rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t row = i / shape.n_inputs;
        x[i] = row == 0 || (row == 2 && i % 2 == 0) || (row == 3 && i % 32 < 16) ? 127.0F : -127.0F;
        if (row == 4) x[i] = i % 4 < 2 ? 127.0F : 0.0F;
    }
    const Rounded rounded = round_rows(x, shape, kind_of(type()));
    // A sum that wrapped or saturated is off by 256 or more times a part's scale.
    const double tolerance = 16.0;
    for (const unsigned byte : {0x00U, 0xFFU, 0x80U, 0x7FU, 0xF0U, 0x0FU}) {
        const Weights weights = uniform_weights(GetParam(), shape, static_cast<std::uint8_t>(byte));
        const std::vector<double> wanted = exact(weights, x, shape);
        for (const KernelSet kernels : kernel_sets()) {
            const std::vector<float> got = multiply(weights, rounded, kernels);
            for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_NEAR(static_cast<double>(got[i]), wanted[i], tolerance)
                    << "byte " << byte << " set " << static_cast<int>(kernels) << " value " << i;
            }
        }
    }
}

TEST_P(QuantType, ValuesThatAreNotFiniteStaySo) {
    const Product shape = {256, 20, 6};
    const Weights weights = random_weights(type(), shape);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 3);
        x[2 * shape.n_inputs + 130] = bad;
        for (const KernelSet kernels : kernel_sets()) {
            const std::vector<float> y =
                multiply(weights, round_rows(x, shape, kind_of(type()), kernels), kernels);
            for (std::size_t i = 0; i < y.size(); ++i) {
                EXPECT_EQ(std::isfinite(y[i]), i / shape.n_outputs != 2) << i;
            }
        }
    }
}

TEST_P(QuantType, ZeroRowsGiveTheBiasAndNoRowsNothing) {
    const Product shape = {256, 20, 2};
    const Weights weights = random_weights(type(), shape);
    const std::vector<float> bias = random_floats(shape.n_outputs, 4);
    for (const float tiny : {0.0F, 1e-44F}) {
        const std::vector<float> x(shape.n_inputs * shape.n_rows, tiny);
        for (const KernelSet kernels : kernel_sets()) {
            const std::vector<float> y =
                multiply(weights, round_rows(x, shape, kind_of(type()), kernels), kernels, bias.data());
            for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], bias[i % shape.n_outputs]);
        }
    }
    const Rounded none = round_rows({}, {256, 20, 0}, kind_of(type()));
    EXPECT_TRUE(multiply(weights, none).empty());
}

// ggml's product of the same weights and inputs, in the layout that it likes best.
std::vector<float> product_of_ggml(ggml_type type, const Weights& weights, const std::vector<float>& x,
                                   const Product& shape) {
    const auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
    ggml_context* context = ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true});
    const auto n_inputs = static_cast<std::int64_t>(shape.n_inputs);
    const auto n_outputs = static_cast<std::int64_t>(shape.n_outputs);
    ggml_tensor* weight = ggml_new_tensor_2d(context, type, n_inputs, n_outputs);
    ggml_backend_buffer_type_t layout = ggml_backend_dev_buffer_type((*compute)->cpu());
    for (ggml_backend_buffer_type_t extra : (*compute)->cpu_extra_buffer_types()) {
        if (takes_product((*compute)->cpu(), extra, type, n_inputs, n_outputs)) layout = extra;
    }
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(context, layout);
    ggml_backend_tensor_set(weight, weights.stored.data(), 0, weights.stored.size());
    ggml_backend_t backend = ggml_backend_dev_init((*compute)->cpu(), nullptr);
    ggml_context* graph_context = ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true});
    ggml_tensor* input =
        ggml_new_tensor_2d(graph_context, GGML_TYPE_F32, n_inputs, static_cast<std::int64_t>(shape.n_rows));
    ggml_tensor* product = ggml_mul_mat(graph_context, weight, input);
    ggml_cgraph* graph = ggml_new_graph(graph_context);
    ggml_build_forward_expand(graph, product);
    ggml_backend_buffer_t graph_buffer = ggml_backend_alloc_ctx_tensors(graph_context, backend);
    ggml_backend_tensor_set(input, x.data(), 0, ggml_nbytes(input));
    EXPECT_EQ(ggml_backend_graph_compute(backend, graph), GGML_STATUS_SUCCESS);
    std::vector<float> y(shape.n_rows * shape.n_outputs);
    ggml_backend_tensor_get(product, y.data(), 0, ggml_nbytes(product));
    ggml_backend_buffer_free(graph_buffer);
    ggml_free(graph_context);
    ggml_backend_free(backend);
    ggml_backend_buffer_free(buffer);
    ggml_free(context);
    return y;
}

TEST_P(QuantType, ErrorIsNoLargerThanThatOfGgml) {
    const Product shape = {1024, 64, 32};
    const Weights weights = random_weights(type(), shape);
    const std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 3);
    const std::vector<double> wanted = exact(weights, x, shape);
    const double theirs = rms_error(product_of_ggml(type(), weights, x, shape), wanted);
    const double ours = rms_error(multiply(weights, round_rows(x, shape, kind_of(type()))), wanted);
    // Both round inputs to bytes; the noise of 2,048 results is below two per cent.
    EXPECT_LT(ours, 1.02 * theirs);
    EXPECT_GT(theirs, 0.0);
}

// Inputs are rounded to the same bytes and scales, so that only the order of the sums is left to differ.
TEST_P(QuantType, SumsAreThoseOfGgmlButForTheirOrder) {
    const Product shape = {1024, 64, 9};
    const Weights weights = random_weights(type(), shape);
    std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 3);
    // Rows whose scales are none of half precision, or hardly any.
    for (std::size_t i = 0; i < shape.n_inputs; ++i) x[shape.n_inputs + i] *= 1e-4F;
    for (const KernelSet kernels : kernel_sets()) {
        const std::vector<float> ours =
            multiply(weights, round_rows(x, shape, kind_of(type()), kernels), kernels);
        const std::vector<float> theirs = product_of_ggml(type(), weights, x, shape);
        const std::vector<double> wanted(theirs.begin(), theirs.end());
        EXPECT_LT(rms_error(ours, wanted), 1e-6) << "set " << static_cast<int>(kernels);
    }
}

// ggml's repacked Q4_0 has one sum of each output too.
TEST(QuantMatrix, HasTheBitsOfGgmlForQ4_0) {
    for (const std::size_t n_rows : {1U, 4U, 7U, 32U}) {
        const Product shape = {1024, 64, n_rows};
        const Weights weights = random_weights(GGML_TYPE_Q4_0, shape);
        const std::vector<float> x = random_floats(shape.n_inputs * shape.n_rows, 3);
        const std::vector<float> theirs = product_of_ggml(GGML_TYPE_Q4_0, weights, x, shape);
        EXPECT_EQ(multiply(weights, round_rows(x, shape, QuantRowKind::Offset8)), theirs) << n_rows;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, QuantType, ::testing::ValuesIn(type_cases()),
                         [](const auto& one) { return std::string(ggml_type_name(one.param.type)); });

TEST(QuantFormat, OtherTypesStayWithGgml) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_IQ2_XXS}) {
        EXPECT_EQ(find_quant_format(type), nullptr);
    }
}

// Scales of parts take whole bytes here, fewer bits in files: most of all in the type of two bits.
TEST(QuantMatrix, TakesHardlyMoreMemoryThanTheFile) {
    for (const TypeCase& one : type_cases()) {
        const auto stored = static_cast<double>(stored_bytes(one.type, {4096, 4096, 0}));
        const auto ours = static_cast<double>(QuantMatrix::bytes(*find_quant_format(one.type), 4096, 4096));
        EXPECT_LE(ours, stored * (one.type == GGML_TYPE_Q2_K ? 1.2 : 1.04)) << ggml_type_name(one.type);
        EXPECT_GE(ours, stored);
    }
}

}  // namespace
}  // namespace clasp::model
