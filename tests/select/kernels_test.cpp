// Every kernel against the scalar one, at sizes around the vector widths.
#include "select/kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "base/kernel_limit.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kSizes[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257};

class KernelsTest : public ::testing::TestWithParam<const Kernels*> {
   protected:
    std::vector<float> floats(std::size_t n) {
        std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
        std::vector<float> values(n);
        for (float& value : values) value = uniform(random_);
        return values;
    }
    std::vector<std::int32_t> integers(std::size_t n) {
        std::uniform_int_distribution<std::int32_t> uniform(-(1 << 20), 1 << 20);
        std::vector<std::int32_t> values(n);
        for (std::int32_t& value : values) value = uniform(random_);
        return values;
    }
    std::vector<std::uint32_t> members(std::size_t n_rows, std::size_t count) {
        std::vector<std::uint32_t> result(count);
        for (std::uint32_t& member : result) member = static_cast<std::uint32_t>(random_() % n_rows);
        return result;
    }

    std::mt19937 random_{61};
    const Kernels& kernels_ = *GetParam();
    const Kernels& scalar_ = scalar_kernels();
};

TEST_P(KernelsTest, GramTileMatchesDoublePrecision) {
    const std::size_t panel = kernels_.panel;
    for (const std::size_t depth : {0U, 1U, 2U, 5U, 128U, 300U}) {
        const std::vector<float> a = floats((depth + 1) * panel);
        const std::vector<float> b = floats((depth + 1) * panel);
        for (const bool add : {false, true}) {
            const std::size_t stride = panel + 3;
            const std::vector<float> before = floats(kTileRows * stride);
            std::vector<float> out = before;
            kernels_.gram_tile(depth, a.data() + kTileRows, b.data(), out.data(), stride, add);
            for (std::size_t i = 0; i < kTileRows; ++i) {
                for (std::size_t j = 0; j < stride; ++j) {
                    const std::size_t at = i * stride + j;
                    double expected = static_cast<double>(before[at]);
                    if (j < panel) {
                        if (!add) expected = 0;
                        for (std::size_t k = 0; k < depth; ++k) {
                            expected += static_cast<double>(a[k * panel + kTileRows + i]) *
                                        static_cast<double>(b[k * panel + j]);
                        }
                    }
                    ASSERT_NEAR(static_cast<double>(out[at]), expected, 2e-5);
                }
            }
        }
    }
}

TEST_P(KernelsTest, SquaredNormIsTheScalarOneBitForBit) {
    for (const std::size_t n : kSizes) {
        const std::vector<float> row = floats(n);
        EXPECT_EQ(kernels_.squared_norm(row.data(), n), scalar_.squared_norm(row.data(), n));
    }
}

TEST_P(KernelsTest, SquaredNormShowsNanAndInfinityAnywhere) {
    for (const std::size_t n : kSizes) {
        for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
            std::vector<float> row = floats(n);
            row[random_() % n] = bad;
            EXPECT_FALSE(std::isfinite(kernels_.squared_norm(row.data(), n)));
        }
    }
}

TEST_P(KernelsTest, PackRowsIsTheScalarOneBitForBit) {
    for (const std::size_t n : kSizes) {
        for (const std::size_t width : {8U, 24U, 48U}) {
            for (const std::size_t n_rows : {std::size_t{1}, width - 1, width}) {
                const std::vector<float> values = floats(n_rows * n);
                std::vector<const float*> rows(n_rows);
                std::vector<double> scales(n_rows);
                for (std::size_t r = 0; r < n_rows; ++r) {
                    rows[r] = values.data() + r * n;
                    scales[r] = 0.3 + static_cast<double>(r);
                }
                std::vector<float> out(n * width, -1.0F);
                std::vector<float> expected = out;
                kernels_.pack_rows(rows.data(), scales.data(), n_rows, width, n, out.data());
                scalar_.pack_rows(rows.data(), scales.data(), n_rows, width, n, expected.data());
                EXPECT_EQ(out, expected);
            }
        }
    }
}

TEST_P(KernelsTest, SumRowsIsTheScalarOne) {
    for (const std::size_t n : kSizes) {
        const std::vector<std::int32_t> rows = integers(10 * n);
        for (const std::size_t count : {0U, 1U, 2U, 9U, 40U}) {
            const std::vector<std::uint32_t> some = members(10, count);
            std::vector<std::int32_t> out(n, -1);
            std::vector<std::int32_t> expected(n, -2);
            kernels_.sum_rows(rows.data(), n, some.data(), count, n, out.data());
            scalar_.sum_rows(rows.data(), n, some.data(), count, n, expected.data());
            EXPECT_EQ(out, expected);
        }
    }
}

TEST_P(KernelsTest, MaxRowsIsTheScalarOne) {
    for (const std::size_t n : kSizes) {
        const std::vector<std::uint32_t> some = members(10, 6);
        const std::vector<float> rows = floats(10 * n);
        std::vector<float> out(n, 0.3F);
        std::vector<float> expected = out;
        kernels_.max_rows(rows.data(), n, some.data(), some.size(), n, out.data());
        scalar_.max_rows(rows.data(), n, some.data(), some.size(), n, expected.data());
        EXPECT_EQ(out, expected);
        const std::vector<std::int32_t> fixed_rows = integers(10 * n);
        std::vector<std::int32_t> fixed_out(n, 7);
        std::vector<std::int32_t> fixed_expected = fixed_out;
        kernels_.max_fixed_rows(fixed_rows.data(), n, some.data(), some.size(), n, fixed_out.data());
        scalar_.max_fixed_rows(fixed_rows.data(), n, some.data(), some.size(), n, fixed_expected.data());
        EXPECT_EQ(fixed_out, fixed_expected);
    }
}

TEST_P(KernelsTest, BestRowsIsTheScalarOneWithTies) {
    for (const std::size_t n : kSizes) {
        std::vector<std::int32_t> values = integers(11 * n);
        for (std::int32_t& value : values) value /= 1 << 19;  // few distinct values: many ties
        for (const std::size_t n_rows : {1U, 2U, 5U, 11U}) {
            std::vector<const std::int32_t*> rows;
            std::vector<float> scales;
            for (std::size_t k = 0; k < n_rows; ++k) {
                rows.push_back(values.data() + k * n);
                scales.push_back(k % 3 == 0 ? 0.5F : 1.0F);
            }
            for (const std::size_t begin : {std::size_t{0}, n / 2}) {
                const std::size_t count = n - begin;
                std::vector<float> best(count);
                std::vector<float> expected_best(count);
                std::vector<std::uint32_t> index(count);
                std::vector<std::uint32_t> expected_index(count);
                kernels_.best_rows(rows.data(), scales.data(), n_rows, begin, count, best.data(),
                                   index.data());
                scalar_.best_rows(rows.data(), scales.data(), n_rows, begin, count, expected_best.data(),
                                  expected_index.data());
                EXPECT_EQ(best, expected_best);
                EXPECT_EQ(index, expected_index);
            }
        }
    }
}

TEST_P(KernelsTest, GatherFixedRoundsToEvenAndKeepsTheOrder) {
    for (const std::size_t n : kSizes) {
        std::vector<float> row = floats(n);
        for (std::size_t i = 0; i < n; i += 3) row[i] = (static_cast<float>(i) + 0.5F) / 1024.0F;
        std::vector<std::uint32_t> columns;
        for (std::uint32_t column = 0; column < n; ++column) {
            if (random_() % 3 != 0) columns.push_back(column);
        }
        std::vector<ColumnBlock> blocks;
        std::size_t i = 0;
        while (i < columns.size() && columns[i] + 8 <= n) {
            ColumnBlock block;
            block.source = columns[i];
            block.target = static_cast<std::uint32_t>(i);
            for (std::size_t lane = 0; i < columns.size() && columns[i] < block.source + 8; ++lane, ++i) {
                block.permutation[lane] = columns[i] - block.source;
            }
            blocks.push_back(block);
        }
        const ColumnSelection selection = {columns.data(), columns.size(), blocks.data(), blocks.size(), i};
        std::vector<std::int32_t> out(columns.size() + 7);
        std::vector<std::int32_t> expected(columns.size() + 7);
        kernels_.gather_fixed(row.data(), selection, 1024.0F, out.data());
        scalar_.gather_fixed(row.data(), selection, 1024.0F, expected.data());
        out.resize(columns.size());
        expected.resize(columns.size());
        EXPECT_EQ(out, expected);
    }
}

TEST_P(KernelsTest, MaxBitsFindsTheLargestMagnitudeThatCounts) {
    for (const std::size_t n : kSizes) {
        std::vector<float> row = floats(n);
        std::vector<std::uint32_t> mask(n, 0x7FFFFFFFU);
        const std::size_t at = random_() % n;
        row[at] = -3.5F;
        EXPECT_EQ(kernels_.max_bits(row.data(), mask.data(), n), std::bit_cast<std::uint32_t>(3.5F));
        row[at] = std::nanf("");
        EXPECT_GT(kernels_.max_bits(row.data(), mask.data(), n), std::bit_cast<std::uint32_t>(3e38F));
        mask[at] = 0;
        EXPECT_LE(kernels_.max_bits(row.data(), mask.data(), n), std::bit_cast<std::uint32_t>(1.0F));
    }
}

// In a process of its own, which inherits the limit: the tables are found once, before any test.
void expect_fastest(const char* limit, std::string_view fastest) {
    ::setenv(base::kKernelLimit, limit, 1);
    EXPECT_EXIT(std::exit(active_kernels().name == fastest ? 0 : 1), ::testing::ExitedWithCode(0), "")
        << limit;
    ::unsetenv(base::kKernelLimit);
}

TEST(KernelsDeathTest, TheEnvironmentLimitsThem) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto tables = usable_kernels();
    const bool has_avx2 =
        std::any_of(tables.begin(), tables.end(), [](const Kernels* table) { return table->name == "avx2"; });
    expect_fastest("scalar", "scalar");
    expect_fastest("avx2", has_avx2 ? "avx2" : tables.back()->name);
    expect_fastest("vnni256", has_avx2 ? "avx2" : tables.back()->name);
    expect_fastest("avx512", tables.back()->name);
}

INSTANTIATE_TEST_SUITE_P(All, KernelsTest,
                         ::testing::ValuesIn(usable_kernels().begin(), usable_kernels().end()),
                         [](const auto& parameter) { return std::string(parameter.param->name); });

}  // namespace
}  // namespace clasp::selection
