// The sizes of pictures by the rule of Qwen's models, against the tables that the authors' code, its other
// limits and llama.cpp give.
#include "model/smart_resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace clasp::model {
namespace {

struct SizeRow {
    PixelSize picture;
    PixelSize original;  // 4 .. 16384 tokens
    PixelSize small;     // .. 1280
    PixelSize large;     // 1280 ..
    PixelSize llama_cpp;
};

const std::vector<SizeRow>& table() {
    static const std::vector<SizeRow> rows = {
        {{640, 480}, {644, 476}, {644, 476}, {1176, 868}, {644, 476}},
        {{640, 488}, {644, 476}, {644, 476}, {1148, 896}, {644, 476}},
        {{1000, 300}, {1008, 308}, {1008, 308}, {1848, 560}, {1008, 308}},
        {{1024, 768}, {1036, 756}, {1036, 756}, {1176, 868}, {1036, 756}},
        {{1920, 1080}, {1932, 1092}, {1316, 728}, {1932, 1092}, {1932, 1092}},
        {{4000, 3000}, {4004, 2996}, {1148, 840}, {4004, 2996}, {2044, 1540}},
        {{224, 224}, {224, 224}, {224, 224}, {1008, 1008}, {224, 224}},
        {{70, 70}, {56, 56}, {56, 56}, {1008, 1008}, {84, 84}},
        {{14, 700}, {28, 700}, {28, 700}, {168, 7084}, {28, 700}},
    };
    return rows;
}

std::string text_of(PixelSize size) {
    return std::to_string(size.width) + " x " + std::to_string(size.height);
}

void expect_size(PixelSize picture, const SmartResize& rule, Compat compat, PixelSize wanted) {
    const auto size = smart_resize(picture, rule, compat);
    ASSERT_TRUE(size.ok()) << size.status().message();
    EXPECT_EQ(text_of(*size), text_of(wanted)) << "of " << text_of(picture);
}

TEST(SmartResize, GivesEveryRowOfTheTable) {
    for (const SizeRow& row : table()) {
        expect_size(row.picture, {28, 4, 16384}, Compat::Original, row.original);
        expect_size(row.picture, {28, 4, 1280}, Compat::Original, row.small);
        expect_size(row.picture, {28, 1280, 16384}, Compat::Original, row.large);
        expect_size(row.picture, {28, 8, 4096}, Compat::LlamaCpp, row.llama_cpp);
    }
}

TEST(SmartResize, KnowsLargerTokens) {
    expect_size({640, 480}, {32, 64, 16384}, Compat::Original, {640, 480});
    expect_size({1000, 300}, {32, 64, 16384}, Compat::Original, {992, 288});
    expect_size({1920, 1080}, {32, 64, 16384}, Compat::Original, {1920, 1088});
}

// Sides are whole tokens and the limits hold unless a side is a single token wide.
TEST(SmartResize, KeepsItsLimits) {
    for (int width = 1; width < 3000; width = width * 5 / 3 + 1) {
        for (int height = 1; height < 3000; height = height * 7 / 4 + 1) {
            for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
                const SmartResize rule = {28, 8, 300};
                const auto size = smart_resize({width, height}, rule, compat);
                if (!size.ok()) continue;
                EXPECT_EQ(size->width % 28 + size->height % 28, 0);
                const int n_tokens = size->width / 28 * (size->height / 28);
                EXPECT_GE(n_tokens, 8) << text_of({width, height});
                if (size->width > 28 && size->height > 28) {
                    EXPECT_LE(n_tokens, 300) << text_of({width, height});
                }
            }
        }
    }
}

TEST(SmartResize, RefusesThreadsAsTheOriginalDoes) {
    const SmartResize rule = {28, 4, 16384};
    expect_size({5, 1000}, rule, Compat::Original, {28, 1008});
    for (const PixelSize picture : {PixelSize{1, 201}, {5, 1001}, {1, 65535}, {65535, 1}}) {
        const auto size = smart_resize(picture, rule, Compat::Original);
        ASSERT_FALSE(size.ok());
        EXPECT_EQ(size.status().code(), Code::InvalidArgument);
        EXPECT_THAT(size.status().message(), testing::HasSubstr(text_of(picture)));
        EXPECT_THAT(size.status().message(), testing::HasSubstr("at most 200 times"));
        EXPECT_TRUE(smart_resize(picture, rule, Compat::LlamaCpp).ok());
    }
    expect_size({1, 1}, rule, Compat::Original, {56, 56});
}

TEST(SmartResize, RefusesLimitsThatContradict) {
    const auto size = smart_resize({100, 100}, {28, 50, 20}, Compat::Original);
    ASSERT_FALSE(size.ok());
    EXPECT_THAT(size.status().message(), testing::HasSubstr("at least 50 and at most 20 tokens"));
}

}  // namespace
}  // namespace clasp::model
