#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "clasp/select.h"
#include "select/cases.h"
#include "select/kernels/kernels.h"
#include "select/reference.h"

namespace clasp {
namespace {

using testing::dot;
using ::testing::HasSubstr;
using testing::Kind;
using testing::make_features;
using testing::unit_rows;

// Restores the kernel choice when a test ends.
class Gram : public ::testing::Test {
   protected:
    ~Gram() override { selection::force_kernels(nullptr); }
};

std::vector<float> run(const std::vector<float>& features, std::size_t width) {
    const std::size_t n = features.size() / width;
    std::vector<float> matrix(n * n, -7.0F);
    SelectWorkspace workspace;
    const Status status = gram({features.data(), n, width, width}, workspace, nullptr, matrix.data(), n);
    EXPECT_TRUE(status.ok()) << status.message();
    return matrix;
}

TEST_F(Gram, EveryKernelMatchesDoublePrecisionAtOddSizes) {
    std::mt19937 random(51);
    for (const selection::Kernels* kernels : selection::usable_kernels()) {
        selection::force_kernels(kernels);
        for (const std::size_t n :
             {1U, 2U, 3U, 4U, 5U, 7U, 8U, 23U, 24U, 25U, 47U, 49U, 95U, 97U, 193U, 200U}) {
            for (const std::size_t width : {1U, 2U, 7U, 8U, 9U, 127U, 128U, 129U, 300U}) {
                const std::vector<float> features = make_features(Kind::Random, n, width, random);
                const auto rows = unit_rows(features, width);
                const std::vector<float> matrix = run(features, width);
                double largest_error = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    for (std::size_t j = 0; j <= i; ++j) {
                        const auto entry = static_cast<double>(matrix[i * n + j]);
                        largest_error = std::max(largest_error, std::abs(entry - dot(rows[i], rows[j])));
                        ASSERT_EQ(matrix[i * n + j], matrix[j * n + i]);
                    }
                }
                EXPECT_LT(largest_error, 1e-6) << kernels->name << " " << n << " x " << width;
            }
        }
    }
}

TEST_F(Gram, EqualRowsHaveEqualEntries) {
    std::mt19937 random(52);
    const std::size_t width = 150;
    const std::size_t n = 60;
    std::vector<float> features = make_features(Kind::Random, n, width, random);
    for (std::size_t i = 0; i < width; ++i) features[41 * width + i] = 0.25F * features[3 * width + i];
    const std::vector<float> matrix = run(features, width);
    for (std::size_t j = 0; j < n; ++j) EXPECT_EQ(matrix[3 * n + j], matrix[41 * n + j]);
}

TEST_F(Gram, AZeroVectorIsSimilarToNothingNotEvenItself) {
    std::vector<float> features = {1, 2, 0, 0, 3, 4};
    const std::vector<float> matrix = run(features, 2);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(matrix[3 + i], 0.0F);
        EXPECT_EQ(matrix[i * 3 + 1], 0.0F);
    }
    EXPECT_NEAR(matrix[2], 11.0F / (5.0F * std::sqrt(5.0F)), 1e-6);
}

TEST_F(Gram, LengthsFarFromOneDoNotMatter) {
    for (const float factor : {1e-44F, 1e-30F, 1e30F, 1e37F}) {
        const std::vector<float> matrix = run({factor, 0, factor, factor, 0, 1}, 2);
        EXPECT_NEAR(matrix[1], std::sqrt(0.5), 1e-6) << factor;
        EXPECT_NEAR(matrix[5], std::sqrt(0.5), 1e-6) << factor;
    }
}

TEST_F(Gram, StridesOfInputAndOutputAreKept) {
    const std::vector<float> features = {1, 0, 99, 0, 1, 99};
    std::vector<float> matrix(6, -7.0F);
    SelectWorkspace workspace;
    ASSERT_TRUE(gram({features.data(), 2, 2, 3}, workspace, nullptr, matrix.data(), 3).ok());
    EXPECT_THAT(matrix, ::testing::ElementsAre(1, 0, -7, 0, 1, -7));
}

TEST_F(Gram, ErrorsNameWhatIsWrong) {
    std::vector<float> features = {1, 2, 3, 4, 5, 6};
    std::vector<float> matrix(9);
    SelectWorkspace workspace;
    const auto message = [&](const FeatureView& view, float* out, std::size_t stride) {
        const Status status = gram(view, workspace, nullptr, out, stride);
        EXPECT_EQ(status.code(), Code::InvalidArgument);
        return status.message();
    };
    EXPECT_THAT(message({features.data(), 3, 2, 2}, matrix.data(), 2), HasSubstr("output stride 2"));
    EXPECT_THAT(message({features.data(), 3, 2, 2}, nullptr, 3), HasSubstr("output"));
    EXPECT_THAT(message({features.data(), 3, 2, 1}, matrix.data(), 3), HasSubstr("stride 1"));
    EXPECT_THAT(message({nullptr, 3, 2, 2}, matrix.data(), 3), HasSubstr("empty"));
    features[3] = std::numeric_limits<float>::infinity();
    EXPECT_THAT(message({features.data(), 3, 2, 2}, matrix.data(), 3), HasSubstr("token 1"));
    features[1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(message({features.data(), 3, 2, 2}, matrix.data(), 3), HasSubstr("token 0"));
}

}  // namespace
}  // namespace clasp
