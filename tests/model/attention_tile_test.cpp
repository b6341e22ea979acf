#include "model/attention_tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "ggml.h"

namespace clasp::model {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

struct TileRows {
    std::size_t n_rows = 0;
    std::size_t n_keys = 0;
    std::size_t head_width = 0;
    float scale = 1.0F;
    std::vector<float> queries;
    std::vector<float> keys;
    std::vector<float> values;
    std::vector<std::uint16_t> mask;  // n_rows x n_keys; empty: none
};

TileRows random_tile_rows(std::size_t n_rows, std::size_t n_keys, std::size_t head_width) {
    TileRows rows = {n_rows, n_keys, head_width, 1.0F / std::sqrt(static_cast<float>(head_width)),
                     {},     {},     {},         {}};
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (auto* values : {&rows.queries, &rows.keys, &rows.values}) {
        const std::size_t n = values == &rows.queries ? n_rows : n_keys;
        for (std::size_t i = 0; i < n * head_width; ++i) values->push_back(normal(random));
    }
    return rows;
}

// Biases of the keys that row r sees: [first(r), end(r)).
template <typename First, typename End>
void hide_all_but(TileRows& rows, First first, End end) {
    std::mt19937 random(5);
    rows.mask.assign(rows.n_rows * rows.n_keys, ggml_fp32_to_fp16(-INFINITY));
    for (std::size_t row = 0; row < rows.n_rows; ++row) {
        const auto behind = static_cast<std::size_t>(end(row));
        for (auto key = static_cast<std::size_t>(first(row)); key < behind; ++key) {
            const float bias = static_cast<float>(random() % 5) * 0.25F;
            rows.mask[row * rows.n_keys + key] = ggml_fp32_to_fp16(bias);
        }
    }
}

std::vector<float> attend_all(const TileRows& rows, KernelSet kernels = fastest_kernels(),
                              std::size_t first_row = 0) {
    std::vector<float> memory(PackedHead::size(rows.n_keys, rows.head_width), NAN);
    const PackedHead head = {memory.data(), rows.n_keys, rows.head_width};
    head.clear_padding();
    for (std::size_t key = 0; key < rows.n_keys; ++key) {
        head.set(key, rows.keys.data() + key * rows.head_width, rows.values.data() + key * rows.head_width);
    }
    std::vector<float> y(rows.n_rows * rows.head_width, NAN);
    std::vector<AttentionTile> tiles;
    for (std::size_t row = first_row; row < rows.n_rows; ++row) {
        if ((row - first_row) % kTileRows == 0) tiles.emplace_back();
        AttentionTile& tile = tiles.back();
        tile.query[tile.n_rows] = rows.queries.data() + row * rows.head_width;
        tile.y[tile.n_rows] = y.data() + row * rows.head_width;
        if (!rows.mask.empty()) tile.mask[tile.n_rows] = rows.mask.data() + row * rows.n_keys;
        ++tile.n_rows;
    }
    attend_tiles(tiles, head, rows.scale, kernels);
    return y;
}

// By plain loops in double precision; 0 where a row sees nothing.
std::vector<double> plain_attention(const TileRows& rows) {
    std::vector<double> y(rows.n_rows * rows.head_width, 0.0);
    for (std::size_t row = 0; row < rows.n_rows; ++row) {
        std::vector<double> logits(rows.n_keys);
        double top = kMinusInfinity;
        for (std::size_t key = 0; key < rows.n_keys; ++key) {
            double dot = 0.0;
            for (std::size_t i = 0; i < rows.head_width; ++i) {
                dot += static_cast<double>(rows.queries[row * rows.head_width + i]) *
                       static_cast<double>(rows.keys[key * rows.head_width + i]);
            }
            logits[key] = dot * static_cast<double>(rows.scale);
            if (!rows.mask.empty()) {
                logits[key] += static_cast<double>(ggml_fp16_to_fp32(rows.mask[row * rows.n_keys + key]));
            }
            top = std::max(top, logits[key]);
        }
        if (top == kMinusInfinity) continue;
        double sum = 0.0;
        for (double& logit : logits) sum += logit = std::exp(logit - top);
        for (std::size_t key = 0; key < rows.n_keys; ++key) {
            for (std::size_t i = 0; i < rows.head_width; ++i) {
                y[row * rows.head_width + i] +=
                    logits[key] / sum * static_cast<double>(rows.values[key * rows.head_width + i]);
            }
        }
    }
    return y;
}

void expect_attention(const TileRows& rows, double tolerance = 5e-6) {
    const std::vector<float> got = attend_all(rows);
    const std::vector<double> wanted = plain_attention(rows);
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << "value " << i;
}

class AttentionTiles : public ::testing::Test {
   protected:
    void SetUp() override {
        if (!PackedHead::fits(16)) GTEST_SKIP() << "no kernel for this processor";
    }
};

TEST_F(AttentionTiles, EqualTheFormulaWithoutAMask) {
    for (const std::size_t n_keys : {1UL, 15UL, 16UL, 33UL, 700UL}) {
        expect_attention(random_tile_rows(7, n_keys, 64));
    }
}

// Longer than a block of keys, so that the maximum of a row changes on the way.
TEST_F(AttentionTiles, EqualTheFormulaWithPromptsAndWindows) {
    TileRows prompt = random_tile_rows(61, 600, 128);
    hide_all_but(
        prompt, [](std::size_t) { return 0; }, [](std::size_t row) { return 540 + row; });
    expect_attention(prompt);
    TileRows window = random_tile_rows(61, 600, 128);
    hide_all_but(
        window, [](std::size_t row) { return 5 * row; }, [](std::size_t row) { return 5 * row + 90; });
    expect_attention(window);
}

TEST_F(AttentionTiles, RowsThatSeeNothingAreZeroAndTheirNeighboursAreNot) {
    TileRows rows = random_tile_rows(6, 40, 32);
    hide_all_but(
        rows, [](std::size_t) { return 3; }, [](std::size_t row) { return row % 2 == 0 ? 3 : 40; });
    expect_attention(rows);
    hide_all_but(
        rows, [](std::size_t) { return 0; }, [](std::size_t) { return 0; });
    expect_attention(rows);
}

TEST_F(AttentionTiles, LargeScoresInALaterBlockDoNotOverflow) {
    TileRows rows = random_tile_rows(6, 900, 128);
    for (std::size_t i = 700 * 128; i < rows.keys.size(); ++i) rows.keys[i] *= 300.0F;
    expect_attention(rows, 1e-4);
}

TEST_F(AttentionTiles, EveryKernelGivesTheSameBits) {
    TileRows rows = random_tile_rows(23, 600, 96);
    hide_all_but(
        rows, [](std::size_t) { return 0; }, [](std::size_t row) { return 1 + 25 * row; });
    for (const KernelSet kernels : kernel_sets()) {
        if (kernels != KernelSet::Scalar) {
            EXPECT_EQ(attend_all(rows, kernels), attend_all(rows));
        }
    }
}

// A stage that keeps everything must give what the whole prompt gives, wherever tiles begin.
TEST_F(AttentionTiles, ARowDoesNotDependOnTheRowsBesideIt) {
    TileRows rows = random_tile_rows(40, 700, 128);
    hide_all_but(
        rows, [](std::size_t row) { return row * 3; }, [](std::size_t row) { return 100 + 15 * row; });
    const std::vector<float> all = attend_all(rows);
    for (const std::size_t first : {1UL, 4UL, 39UL}) {
        const std::vector<float> some = attend_all(rows, fastest_kernels(), first);
        for (std::size_t i = first * rows.head_width; i < all.size(); ++i) ASSERT_EQ(some[i], all[i]);
    }
}

TEST_F(AttentionTiles, HeadsOfOddWidthDoNotFit) {
    EXPECT_FALSE(PackedHead::fits(20));
    EXPECT_FALSE(PackedHead::fits(0));
    EXPECT_FALSE(PackedHead::fits(1024));
}

}  // namespace
}  // namespace clasp::model
