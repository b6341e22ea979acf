#include "model/full_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace clasp::model {
namespace {

struct Shape {
    std::size_t n_rows;
    std::size_t n_heads;
    std::size_t head_width;
};

std::vector<float> random_rows(const Shape& shape) {
    std::vector<float> values(shape.n_rows * 3 * shape.n_heads * shape.head_width);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random);
    return values;
}

FullAttention attention_of(const Shape& shape) {
    return {shape.n_heads, shape.head_width, 1.0F / std::sqrt(static_cast<float>(shape.head_width))};
}

std::vector<float> run(const Shape& shape, const std::vector<float>& qkv, std::size_t n_parts = 1,
                       KernelSet kernels = fastest_kernels()) {
    const FullAttention attention = attention_of(shape);
    std::vector<float> packed(attention.packed_size(shape.n_rows));
    std::vector<float> y(shape.n_rows * shape.n_heads * shape.head_width, NAN);
    for (std::size_t part = 0; part < n_parts; ++part) {
        attention.pack(qkv.data(), shape.n_rows, part, n_parts, packed.data());
    }
    for (std::size_t part = 0; part < n_parts; ++part) {
        attention.attend(qkv.data(), packed.data(), shape.n_rows, part, n_parts, y.data(), kernels);
    }
    return y;
}

// softmax(scale Q K^T) V by plain loops in double precision.
std::vector<float> slow(const Shape& shape, const std::vector<float>& qkv) {
    const std::size_t width = shape.n_heads * shape.head_width;
    std::vector<float> y(shape.n_rows * width);
    std::vector<double> weights(shape.n_rows);
    for (std::size_t head = 0; head < shape.n_heads; ++head) {
        const auto at = [&](std::size_t row, std::size_t which, std::size_t i) -> double {
            return static_cast<double>(qkv[row * 3 * width + which * width + head * shape.head_width + i]);
        };
        for (std::size_t row = 0; row < shape.n_rows; ++row) {
            double sum = 0.0;
            for (std::size_t key = 0; key < shape.n_rows; ++key) {
                double dot = 0.0;
                for (std::size_t i = 0; i < shape.head_width; ++i) {
                    dot += at(row, 0, i) * at(key, 1, i);
                }
                weights[key] = std::exp(dot * static_cast<double>(attention_of(shape).scale));
                sum += weights[key];
            }
            for (std::size_t i = 0; i < shape.head_width; ++i) {
                double value = 0.0;
                for (std::size_t key = 0; key < shape.n_rows; ++key) value += weights[key] * at(key, 2, i);
                y[row * width + head * shape.head_width + i] = static_cast<float>(value / sum);
            }
        }
    }
    return y;
}

class FullAttentionShapes : public ::testing::TestWithParam<Shape> {
   protected:
    void SetUp() override {
        if (!attention_of(GetParam()).fits(GetParam().n_rows)) GTEST_SKIP() << "no kernel for this processor";
    }
};

TEST_P(FullAttentionShapes, EqualsTheFormula) {
    const std::vector<float> qkv = random_rows(GetParam());
    const std::vector<float> got = run(GetParam(), qkv);
    const std::vector<float> wanted = slow(GetParam(), qkv);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 2e-6) << "value " << i;
}

TEST_P(FullAttentionShapes, EveryKernelGivesTheSameBits) {
    const std::vector<float> qkv = random_rows(GetParam());
    const std::vector<float> wanted = run(GetParam(), qkv);
    for (const KernelSet kernels : kernel_sets()) {
        if (is_x86(kernels)) {
            EXPECT_EQ(run(GetParam(), qkv, 1, kernels), wanted);
        }
    }
}

TEST_P(FullAttentionShapes, PartsChangeNoBit) {
    const std::vector<float> qkv = random_rows(GetParam());
    EXPECT_EQ(run(GetParam(), qkv, 3), run(GetParam(), qkv));
}

TEST_P(FullAttentionShapes, LargeScoresDoNotOverflow) {
    std::vector<float> qkv = random_rows(GetParam());
    for (float& value : qkv) value *= 1e3F;
    for (const float value : run(GetParam(), qkv)) ASSERT_TRUE(std::isfinite(value));
}

TEST_P(FullAttentionShapes, AQueryThatIsNotFiniteSpoilsItsOwnRowAlone) {
    const Shape shape = GetParam();
    std::vector<float> qkv = random_rows(shape);
    qkv[shape.n_rows / 2 * 3 * shape.n_heads * shape.head_width] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> y = run(shape, qkv);
    const std::size_t width = shape.n_heads * shape.head_width;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const bool is_spoilt = i / width == shape.n_rows / 2 && i % width < shape.head_width;
        ASSERT_EQ(std::isnan(y[i]), is_spoilt) << "value " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FullAttentionShapes,
                         ::testing::Values(Shape{1, 1, 16}, Shape{6, 2, 32}, Shape{17, 3, 16},
                                           Shape{65, 4, 64}, Shape{130, 1, 80}, Shape{1031, 1, 80}));

TEST(FullAttention, RefusesShapesItCannotHold) {
    const FullAttention odd = {.n_heads = 2, .head_width = 20, .scale = 1.0F};
    EXPECT_FALSE(odd.fits(64));
    const FullAttention even = {.n_heads = 2, .head_width = 32, .scale = 1.0F};
    EXPECT_FALSE(even.fits(0));
}

}  // namespace
}  // namespace clasp::model
