// The folder of a cache stays within its bound, gives up what was not used for longest, and touches nothing
// that is not its own.
#include "engine/kept_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/feature_cache.h"
#include "engine/start_file.h"
#include "support/paths.h"

namespace clasp::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

constexpr std::size_t kFileBytes = 1000;

std::string feature_name(char digit) {
    return std::string(64, digit) + std::string(kFeatureSuffix);
}

std::string feature_bytes() {
    std::string bytes(kFeatureMagic);
    bytes.resize(kFileBytes, 'x');
    return bytes;
}

SharedLayers some_layers() {
    auto layers = std::make_shared<model::VisionLayers>();
    layers->shape.patches = {2, 3};
    layers->width = 4;
    layers->layers.push_back({3, std::vector<float>(24, 1.0F)});
    return layers;
}

class KeptFilesTest : public testing::Test {
   protected:
    void SetUp() override {
        dir_ = fs::path(test::scratch_dir()) /
               (std::string("kept-") + testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::remove_all(dir_);
        fs::create_directories(dir_);
    }
    void TearDown() override { fs::remove_all(dir_); }

    [[nodiscard]] LogSink log() {
        return [this](LogLevel, std::string_view text) { log_.emplace_back(text); };
    }
    [[nodiscard]] KeptFiles keep(std::size_t max_bytes) { return {dir_.string(), max_bytes, log()}; }
    // As if an hour had passed for what is there.
    void wait_an_hour() const {
        for (const auto& entry : fs::directory_iterator(dir_)) {
            fs::last_write_time(entry.path(), fs::last_write_time(entry.path()) - std::chrono::hours(1));
        }
    }
    void put(const std::string& name, const std::string& bytes) const {
        std::ofstream(dir_ / name, std::ios::binary) << bytes;
    }
    [[nodiscard]] std::set<std::string> names() const {
        std::set<std::string> names;
        for (const auto& entry : fs::directory_iterator(dir_)) names.insert(entry.path().filename());
        return names;
    }

    fs::path dir_;
    std::vector<std::string> log_;
};

TEST_F(KeptFilesTest, TheLeastRecentlyUsedGoFirst) {
    KeptFiles files = keep(3 * kFileBytes + kFileBytes / 2);
    for (const char digit : {'a', 'b', 'c'}) {
        files.write(feature_name(digit), feature_bytes());
        wait_an_hour();
    }
    files.touch(feature_name('a'));
    wait_an_hour();
    files.write(feature_name('d'), feature_bytes());
    EXPECT_THAT(names(), ElementsAre(feature_name('a'), feature_name('c'), feature_name('d')));
    EXPECT_THAT(log_, IsEmpty());
}

TEST_F(KeptFilesTest, StayWithinTheBoundHoweverManyCome) {
    KeptFiles files = keep(40 * kFileBytes);
    for (int i = 0; i < 100; ++i) {
        std::string number = std::to_string(i);
        files.write(std::string(64 - number.size(), '0') + number + std::string(kFeatureSuffix),
                    feature_bytes());
        ASSERT_LE(names().size(), 40U) << i;
    }
    EXPECT_GE(names().size(), 37U) << "no more goes than has to";
}

TEST_F(KeptFilesTest, CountWhatOthersWrote) {
    KeptFiles files = keep(10 * kFileBytes);
    files.write(feature_name('0'), feature_bytes());
    wait_an_hour();
    for (const char digit : {'1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b'})
        put(feature_name(digit), feature_bytes());
    files.write(feature_name('c'), feature_bytes());
    EXPECT_LE(names().size(), 10U);
    EXPECT_FALSE(names().contains(feature_name('0')));
}

TEST_F(KeptFilesTest, NothingElseInTheFolderIsTouched) {
    const std::string large(100 * kFileBytes, 'x');
    put("photo.jpg", large);
    put(feature_name('b'), large);  // our name, but another's content
    put(std::string(64, 'c') + ".packed", "CLASPPW1" + large);
    put(feature_name('d') + ".tmp-1234", large);  // somebody writes it now
    wait_an_hour();
    fs::last_write_time(dir_ / (feature_name('d') + ".tmp-1234"), fs::file_time_type::clock::now());
    KeptFiles files = keep(2 * kFileBytes + kFileBytes / 2);
    for (const char digit : {'1', '2', '3'}) {
        files.write(feature_name(digit), feature_bytes());
        wait_an_hour();
        fs::last_write_time(dir_ / (feature_name('d') + ".tmp-1234"), fs::file_time_type::clock::now());
    }
    EXPECT_THAT(names(), SizeIs(6));
    EXPECT_FALSE(names().contains(feature_name('1')));
    for (const std::string& name : {std::string("photo.jpg"), feature_name('b'),
                                    std::string(64, 'c') + ".packed", feature_name('d') + ".tmp-1234"})
        EXPECT_TRUE(names().contains(name)) << name;
}

TEST_F(KeptFilesTest, WhatAnInterruptedWriteLeftGoesLikeTheRest) {
    put(feature_name('d') + ".tmp-1234", std::string(100 * kFileBytes, 'x'));
    for (int i = 0; i < 2; ++i) wait_an_hour();
    KeptFiles files = keep(2 * kFileBytes);
    files.write(feature_name('1'), feature_bytes());
    EXPECT_THAT(names(), ElementsAre(feature_name('1')));
}

TEST_F(KeptFilesTest, OneThatIsLargerThanTheFolderMayBeIsToldAndNotWritten) {
    KeptFiles files = keep(kFileBytes - 1);
    put(feature_name('b'), std::string(kFeatureMagic));
    files.write(feature_name('a'), feature_bytes());
    EXPECT_THAT(names(), ElementsAre(feature_name('b')));
    ASSERT_THAT(log_, SizeIs(1));
    EXPECT_THAT(log_[0], HasSubstr("1000 bytes exceed the limit of 999"));
}

TEST_F(KeptFilesTest, VisionLayersAndPrefixesShareTheBound) {
    const SharedLayers layers = some_layers();
    auto start = std::make_shared<PromptStart>();
    start->n_rows = 1;
    start->layers.resize(1);
    start->layers[0].keys.assign(64, std::byte{7});
    start->layers[0].values.assign(64, std::byte{7});
    const std::string key(64, 'a');
    const std::size_t one = serialise_layers(key, *layers).size();
    const std::size_t max_bytes = one + one / 4;
    FeatureCache features(1, dir_.string(), log(), 0, max_bytes);
    StartFolder starts(dir_.string(), "model", nullptr, log(), max_bytes);
    features.store(key, layers);
    wait_an_hour();
    starts.keep(StartPart::Prefix, key, start);
    EXPECT_THAT(names(), SizeIs(1));
    EXPECT_NE(starts.find(StartPart::Prefix, key), nullptr);
    EXPECT_EQ(FeatureCache(1, dir_.string(), log()).find(key, {3}), nullptr);
}

// A picture that a server answers about from memory is in use too.
TEST_F(KeptFilesTest, WhatIsFoundInMemoryStaysOnDisk) {
    const std::string first(64, 'a');
    const std::size_t one = serialise_layers(first, *some_layers()).size();
    FeatureCache features(8, dir_.string(), log(), 0, 2 * one + one / 2);
    features.store(first, some_layers());
    wait_an_hour();
    features.store(std::string(64, 'b'), some_layers());
    wait_an_hour();
    ASSERT_NE(features.find(first, {3}), nullptr);
    features.store(std::string(64, 'c'), some_layers());
    EXPECT_THAT(names(), ElementsAre(feature_name('a'), feature_name('c')));
}

}  // namespace
}  // namespace clasp::engine
