#include "engine/row_masks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/graph_inputs.h"

namespace clasp::engine {
namespace {

// Two texts around two pictures that stand side by side, with tokens missing in the first.
std::vector<LiveRow> some_rows() {
    std::vector<LiveRow> rows(10);
    const std::vector<std::int32_t> positions = {0, 1, 2, 7, 9, 10, 11, 12, 13, 14};
    const std::vector<std::int32_t> images = {-1, -1, 0, 0, 0, 1, 1, -1, -1, -1};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i].position = model::text_position(positions[i]);
        rows[i].image = images[i];
    }
    rows[3].mass = 5.0F;
    return rows;
}

// Straight from the rule.
bool is_seen(const std::vector<LiveRow>& rows, std::size_t query, std::size_t key, const MaskRule& rule) {
    if (key > query) {
        return rule.images_see_both_ways && rows[query].image != -1 && rows[query].image == rows[key].image;
    }
    const std::int32_t distance = rows[query].position.planes[0] - rows[key].position.planes[0];
    return rule.window == 0 || distance <= rule.window - 1;
}

TEST(RowMasks, FollowTheRuleForEveryQueryAndKey) {
    const std::vector<LiveRow> rows = some_rows();
    for (const std::int32_t window : {0, 1, 3, 6, 100}) {
        for (const bool both_ways : {false, true}) {
            const MaskRule rule = {window, both_ways};
            for (const std::size_t first : {std::size_t{0}, std::size_t{5}, std::size_t{9}}) {
                const auto mask = attention_mask(mask_rows(rows), first, rows.size() - first, rule);
                ASSERT_EQ(mask.size(), rows.size() * (rows.size() - first));
                for (std::size_t i = first; i < rows.size(); ++i) {
                    for (std::size_t k = 0; k < rows.size(); ++k) {
                        const float value = ggml_fp16_to_fp32(mask[(i - first) * rows.size() + k]);
                        const float bias = ggml_fp16_to_fp32(ggml_fp32_to_fp16(std::log(rows[k].mass)));
                        EXPECT_EQ(value, is_seen(rows, i, k, rule) ? bias : -INFINITY)
                            << "query " << i << ", key " << k << ", window " << window;
                    }
                }
            }
        }
    }
}

TEST(RowMasks, AWindowCountsPositionsNotRows) {
    const std::vector<MaskRow> rows = mask_rows(some_rows());
    EXPECT_TRUE(sees(rows, 4, 3, {.window = 3}));   // positions 9 and 7
    EXPECT_FALSE(sees(rows, 4, 2, {.window = 3}));  // 9 and 2, two rows apart
}

TEST(RowMasks, ProbesLeaveMassesOut) {
    const std::vector<LiveRow> rows = some_rows();
    const std::vector<std::int32_t> queries = {3, 8};
    const auto mask = probe_mask(mask_rows(rows), queries, {.window = 6, .images_see_both_ways = true});
    for (std::size_t i = 0; i < queries.size(); ++i) {
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const bool seen = is_seen(rows, static_cast<std::size_t>(queries[i]), k, {6, true});
            EXPECT_EQ(mask[i * rows.size() + k], seen ? 0.0F : -INFINITY);
        }
    }
}

TEST(RowMasks, PiecesCutNoPictureThatSeesBothWays) {
    const std::vector<LiveRow> rows = some_rows();
    EXPECT_EQ(piece_end(rows, 0, 3, false), 3U);
    EXPECT_EQ(piece_end(rows, 0, 3, true), 5U);  // the first picture, not the second
    EXPECT_EQ(piece_end(rows, 5, 1, true), 7U);
    EXPECT_EQ(piece_end(rows, 7, 1, true), 8U);
    EXPECT_EQ(piece_end(rows, 7, 100, true), 10U);
}

TEST(RowMasks, AnAnswersMaskIsLeftOutUntilSomethingIsHidden) {
    ggml_context* context = ggml_init({.mem_size = 1 << 16, .mem_buffer = nullptr, .no_alloc = true});
    model::TextFamily family = {.architecture = "both ways"};
    family.images_see_both_ways = true;
    model::TextConfig config;
    config.family = &family;
    config.windows = {0, 15, 14, 5, 14};  // one layer each
    GraphInputs inputs(
        model::DecoderGraph{.context = context, .graph = nullptr, .config = &config, .weights = nullptr});
    std::vector<LiveRow> live = some_rows();
    LayerMasks heavy(mask_rows(live), 1);
    live[3].mass = 1.0F;
    LayerMasks masks(mask_rows(live), 1);
    EXPECT_EQ(masks.get(inputs, config, 0), nullptr);
    EXPECT_EQ(masks.get(inputs, config, 1), nullptr);
    ggml_tensor* const narrow = masks.get(inputs, config, 2);
    ASSERT_NE(narrow, nullptr);
    EXPECT_EQ(masks.get(inputs, config, 4), narrow);
    EXPECT_NE(masks.get(inputs, config, 3), narrow);
    EXPECT_NE(heavy.get(inputs, config, 0), nullptr);
    ggml_free(context);
}

TEST(LiveRowsPositions, SurvivorsKeepTheirPlanes) {
    std::vector<LiveRow> rows = some_rows();
    std::int32_t n_visual = 0;
    for (LiveRow& row : rows) {
        if (row.image < 0) continue;
        row.visual_index = n_visual;
        row.position = {{2, 2 + n_visual / 3, 2 + n_visual % 3, 0}};
        ++n_visual;
    }
    LiveRows live(rows);
    ASSERT_TRUE(live.apply({{1, 4}, {}}).ok());
    ASSERT_EQ(live.size(), 7U);
    EXPECT_EQ(live.rows()[2].position, rows[3].position);
    EXPECT_EQ(live.rows()[2].image, 0);
    EXPECT_EQ(live.rows()[3].position, rows[6].position);
    EXPECT_EQ(live.rows()[3].image, 1);
    EXPECT_EQ(live.rows()[6].position, rows[9].position);
    ASSERT_TRUE(live.apply({{1}, {}}, PositionMode::Compact).ok());
    EXPECT_EQ(live.rows()[2].position, model::text_position(2));
    EXPECT_EQ(live.rows()[5].position, model::text_position(5));
}

}  // namespace
}  // namespace clasp::engine
