#include "model/packed_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace clasp::model {
namespace {

struct MatrixShape {
    std::size_t n_inputs;
    std::size_t n_outputs;
    std::size_t n_rows;
};

struct Problem {
    std::vector<float> weights;
    std::vector<float> x;
    std::vector<float> bias;
    std::unique_ptr<PackedMatrix> matrix;
    std::vector<float> packed;  // only its bytes and alignment matter
};

Problem make(const MatrixShape& shape, float outlier = 1.0F) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    Problem problem;
    const auto fill = [&](std::vector<float>& values, std::size_t n) {
        values.resize(n);
        for (float& value : values) value = normal(random);
    };
    fill(problem.weights, shape.n_inputs * shape.n_outputs);
    fill(problem.x, shape.n_inputs * shape.n_rows);
    fill(problem.bias, shape.n_outputs);
    for (std::size_t row = 0; row < shape.n_rows; ++row) problem.x[row * shape.n_inputs] *= outlier;
    problem.matrix = PackedMatrix::create(shape.n_inputs, shape.n_outputs);
    for (std::size_t i = 0; i < shape.n_outputs; ++i) {
        problem.matrix->set_row(i, problem.weights.data() + i * shape.n_inputs);
    }
    problem.packed.resize(PackedMatrix::packed_rows_bytes(shape.n_inputs, shape.n_rows) / sizeof(float) + 1);
    PackedMatrix::pack_rows(problem.x.data(), shape.n_inputs, shape.n_rows, 0, 1, problem.packed.data());
    return problem;
}

std::vector<double> exact(const Problem& problem, const MatrixShape& shape) {
    std::vector<double> y;
    for (std::size_t row = 0; row < shape.n_rows; ++row) {
        for (std::size_t output = 0; output < shape.n_outputs; ++output) {
            double sum = static_cast<double>(problem.bias[output]);
            for (std::size_t i = 0; i < shape.n_inputs; ++i) {
                sum += static_cast<double>(problem.x[row * shape.n_inputs + i]) *
                       static_cast<double>(problem.weights[output * shape.n_inputs + i]);
            }
            y.push_back(sum);
        }
    }
    return y;
}

std::vector<float> multiply(const Problem& problem, const MatrixShape& shape, Epilogue epilogue,
                            std::size_t n_parts = 1, KernelSet kernels = fastest_kernels()) {
    std::vector<float> y(shape.n_rows * shape.n_outputs, NAN);
    for (std::size_t part = 0; part < n_parts; ++part) {
        problem.matrix->multiply(problem.packed.data(), shape.n_rows, problem.bias.data(), epilogue, part,
                                 n_parts, y.data(), kernels);
    }
    return y;
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

class Packed : public ::testing::TestWithParam<MatrixShape> {};

TEST_P(Packed, IsCloseToTheExactProduct) {
    const Problem problem = make(GetParam());
    EXPECT_LT(rms_error(multiply(problem, GetParam(), Epilogue::None), exact(problem, GetParam())), 6e-4);
}

TEST_P(Packed, EveryKernelEqualsTheScalarOneBitForBit) {
    const Problem problem = make(GetParam());
    const std::vector<float> wanted = multiply(problem, GetParam(), Epilogue::None, 1, KernelSet::Scalar);
    for (const KernelSet kernels : kernel_sets()) {
        EXPECT_EQ(multiply(problem, GetParam(), Epilogue::None, 1, kernels), wanted)
            << "set " << static_cast<int>(kernels);
    }
}

TEST_P(Packed, PartsChangeNoBit) {
    Problem problem = make(GetParam());
    const std::vector<float> whole = multiply(problem, GetParam(), Epilogue::QuickGelu);
    for (std::size_t part = 0; part < 3; ++part) {
        PackedMatrix::pack_rows(problem.x.data(), GetParam().n_inputs, GetParam().n_rows, part, 3,
                                problem.packed.data());
    }
    EXPECT_EQ(multiply(problem, GetParam(), Epilogue::QuickGelu, 3), whole);
}

TEST_P(Packed, EpiloguesMatchTheirFormulas) {
    const Problem problem = make(GetParam());
    for (const Epilogue epilogue : {Epilogue::QuickGelu, Epilogue::Gelu}) {
        const std::vector<float> wanted = multiply(problem, GetParam(), epilogue, 1, KernelSet::Scalar);
        const std::vector<float> got = multiply(problem, GetParam(), epilogue);
        // Vector kernels share their exponential.
        for (const KernelSet kernels : kernel_sets()) {
            if (!is_x86(kernels)) continue;
            EXPECT_EQ(multiply(problem, GetParam(), epilogue, 1, kernels), got);
        }
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_NEAR(got[i], wanted[i], 1e-6F + 1e-6F * std::abs(wanted[i])) << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Packed,
                         ::testing::Values(MatrixShape{16, 16, 1}, MatrixShape{256, 32, 6},
                                           MatrixShape{272, 48, 7}, MatrixShape{608, 64, 13},
                                           MatrixShape{1024, 32, 5},
                                           // more than is done at once: 150 rows, 1024 inputs
                                           MatrixShape{1296, 32, 511}));

TEST(PackedMatrix, OutliersSpoilOnlyTheirOwnBlock) {
    const MatrixShape shape = {1024, 32, 6};
    const Problem problem = make(shape, 200.0F);
    EXPECT_LT(rms_error(multiply(problem, shape, Epilogue::None), exact(problem, shape)), 2e-3);
}

TEST(PackedMatrix, ExtremeValuesDoNotOverflow) {
    const MatrixShape shape = {512, 16, 6};
    Problem problem = make(shape);
    std::fill(problem.weights.begin(), problem.weights.end(), 3.0F);
    std::fill(problem.x.begin(), problem.x.end(), -5.0F);
    for (std::size_t i = 0; i < shape.n_outputs; ++i) problem.matrix->set_row(i, problem.weights.data());
    PackedMatrix::pack_rows(problem.x.data(), shape.n_inputs, shape.n_rows, 0, 1, problem.packed.data());
    const std::vector<float> y = multiply(problem, shape, Epilogue::None);
    for (std::size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], -15.0F * 512.0F + problem.bias[i % shape.n_outputs], 0.1F);
    }
}

TEST(PackedMatrix, ValuesThatAreNotFiniteStaySo) {
    const MatrixShape shape = {272, 16, 7};
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
        Problem problem = make(shape);
        problem.x[2 * shape.n_inputs + 260] = bad;
        PackedMatrix::pack_rows(problem.x.data(), shape.n_inputs, shape.n_rows, 0, 1, problem.packed.data());
        const std::vector<float> y = multiply(problem, shape, Epilogue::None);
        for (std::size_t i = 0; i < y.size(); ++i)
            EXPECT_EQ(std::isfinite(y[i]), i / shape.n_outputs != 2) << i;
    }
}

TEST(PackedMatrix, ZeroRowsGiveTheBias) {
    const MatrixShape shape = {256, 16, 2};
    Problem problem = make(shape);
    std::fill(problem.x.begin(), problem.x.end(), 0.0F);
    PackedMatrix::pack_rows(problem.x.data(), shape.n_inputs, shape.n_rows, 0, 1, problem.packed.data());
    const std::vector<float> y = multiply(problem, shape, Epilogue::None);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], problem.bias[i % shape.n_outputs]);
}

}  // namespace
}  // namespace clasp::model
