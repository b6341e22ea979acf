#include "engine/feature_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/paths.h"

namespace clasp::engine {
namespace {

using testing::HasSubstr;

const FeatureKey kKey(64, 'a');
const FeatureKey kOther(64, 'b');

SharedLayers share(model::VisionLayers layers) {
    return std::make_shared<const model::VisionLayers>(std::move(layers));
}

model::VisionLayers make_layers(std::vector<std::size_t> numbers, float value) {
    model::VisionLayers layers;
    layers.shape.patches = {2, 3};
    layers.width = 4;
    for (const std::size_t number : numbers) {
        layers.layers.push_back({number, std::vector<float>(24, value + static_cast<float>(number))});
    }
    return layers;
}

TEST(FeatureFile, ComesBackAsItWas) {
    const model::VisionLayers layers = make_layers({3, 5}, 0.5F);
    const auto parsed = parse_layers(kKey, serialise_layers(kKey, layers));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->shape, layers.shape);
    ASSERT_EQ(parsed->layers.size(), 2U);
    EXPECT_EQ(parsed->layers[1].layer, 5U);
    EXPECT_EQ(parsed->layers[1].values, layers.layers[1].values);
}

TEST(FeatureFile, HoldsTheClassRowWhereItIsAToken) {
    model::VisionLayers layers = make_layers({3}, 0.5F);
    layers.shape.n_prefix = 1;
    layers.shape.projects_prefix = true;
    layers.shape.tower = 1;
    EXPECT_FALSE(parse_layers(kKey, serialise_layers(kKey, layers)).ok()) << "a row is missing";
    layers.layers[0].values.resize(28, 2.0F);
    const auto parsed = parse_layers(kKey, serialise_layers(kKey, layers));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->shape, layers.shape);
    EXPECT_EQ(parsed->layers[0].values, layers.layers[0].values);
}

TEST(FeatureFile, EveryDamageIsNoticed) {
    const std::string good = serialise_layers(kKey, make_layers({3}, 1.0F));
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_FALSE(parse_layers(kKey, good.substr(0, length)).ok()) << length;
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        EXPECT_FALSE(parse_layers(kKey, bad).ok()) << at;
    }
    EXPECT_FALSE(parse_layers(kOther, good).ok());
}

TEST(FeatureFile, LayersWithoutValuesAreRefused) {
    model::VisionLayers empty = make_layers({3}, 1.0F);
    empty.shape.patches = {0, 3};
    empty.layers[0].values.clear();
    EXPECT_THAT(parse_layers(kKey, serialise_layers(kKey, empty)).status().message(), HasSubstr("empty"));
}

TEST(FeatureCache, ForgetsTheLeastRecentlyUsedImage) {
    FeatureCache cache(2, "", {});
    const FeatureKey third(64, 'c');
    cache.store(kKey, share(make_layers({3}, 1.0F)));
    cache.store(kOther, share(make_layers({3}, 2.0F)));
    ASSERT_TRUE(cache.find(kKey, {3}));
    cache.store(third, share(make_layers({3}, 3.0F)));
    EXPECT_TRUE(cache.find(kKey, {3}));
    EXPECT_FALSE(cache.find(kOther, {3}));
    EXPECT_FALSE(cache.find(kKey, {3, 4})) << "a layer that was not kept must be encoded again";
}

TEST(FeatureCache, IsBoundedByBytesButKeepsTheLatestImage) {
    FeatureCache cache(8, "", {}, 1);
    cache.store(kKey, share(make_layers({3}, 1.0F)));
    EXPECT_TRUE(cache.find(kKey, {3}));
    const std::size_t n_bytes = cache.bytes();
    EXPECT_GT(n_bytes, 1U);
    cache.store(kOther, share(make_layers({3}, 2.0F)));
    EXPECT_FALSE(cache.find(kKey, {3}));
    EXPECT_TRUE(cache.find(kOther, {3}));
    EXPECT_EQ(cache.bytes(), n_bytes);
    FeatureCache two(8, "", {}, 2 * n_bytes);
    const FeatureKey third(64, 'c');
    for (const FeatureKey& key : {kKey, kOther, third}) two.store(key, share(make_layers({3}, 1.0F)));
    EXPECT_FALSE(two.find(kKey, {3}));
    EXPECT_EQ(two.bytes(), 2 * n_bytes);
}

TEST(FeatureCache, LayersOfSeveralRequestsStayTogether) {
    FeatureCache cache(1, "", {});
    cache.store(kKey, share(make_layers({3, 5}, 1.0F)));
    cache.store(kKey, share(make_layers({5, 9}, 1.0F)));
    const auto all = cache.find(kKey, {3, 5, 9});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->layers.size(), 3U);
    EXPECT_EQ(all->find(3)->values, make_layers({3}, 1.0F).layers[0].values);
}

TEST(FeatureCache, FilesOutliveTheProcessAndBrokenOnesAreReportedAndIgnored) {
    const std::filesystem::path dir = std::filesystem::path(test::scratch_dir()) / "features";
    std::filesystem::remove_all(dir);
    std::filesystem::create_directories(dir);
    FeatureCache(1, dir.string(), {}).store(kKey, share(make_layers({3}, 1.0F)));
    std::vector<std::string> messages;
    const LogSink log = [&](LogLevel, std::string_view message) { messages.emplace_back(message); };
    EXPECT_TRUE(FeatureCache(1, dir.string(), log).find(kKey, {3}));
    EXPECT_TRUE(messages.empty());
    std::ofstream(dir / (kKey + ".features"), std::ios::trunc) << "CLASPVL1 nonsense";
    EXPECT_FALSE(FeatureCache(1, dir.string(), log).find(kKey, {3}));
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_THAT(messages[0], HasSubstr("cached features"));
}

}  // namespace
}  // namespace clasp::engine
