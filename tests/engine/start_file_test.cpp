// Prefixes on disk: they come back as they were, damage is told and costs no more than reading the text
// again.
#include "engine/start_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "engine/cache_folder.h"
#include "engine/file_identity.h"
#include "engine_fixture.h"
#include "support/paths.h"

namespace clasp {
namespace {

using engine::parse_start;
using engine::PromptStart;
using engine::serialise_start;
using engine::StartFolder;
using engine::StartPart;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kStartKey(64, 'a');

engine::SharedStart small_start(std::size_t n_bytes = 12) {
    auto start = std::make_shared<PromptStart>();
    start->n_rows = 3;
    start->layers.resize(2);
    for (PromptStart::Layer& layer : start->layers) {
        layer.keys.assign(n_bytes, std::byte{7});
        layer.values.assign(n_bytes, std::byte{9});
    }
    start->layers[1].hidden = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
    start->layers[1].is_precise = true;
    return start;
}

TEST(StartFile, ComesBackAsItWas) {
    const auto start = small_start();
    const auto parsed = parse_start(kStartKey, serialise_start(kStartKey, *start));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->n_rows, 3U);
    ASSERT_THAT(parsed->layers, SizeIs(2));
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(parsed->layers[i].keys, start->layers[i].keys);
        EXPECT_EQ(parsed->layers[i].values, start->layers[i].values);
        EXPECT_EQ(parsed->layers[i].hidden, start->layers[i].hidden);
        EXPECT_EQ(parsed->layers[i].is_precise, start->layers[i].is_precise);
    }
}

TEST(StartFile, EveryDamageIsNoticed) {
    const std::string good = serialise_start(kStartKey, *small_start());
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_FALSE(parse_start(kStartKey, good.substr(0, length)).ok()) << length;
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        EXPECT_FALSE(parse_start(kStartKey, bad).ok()) << at;
    }
    EXPECT_FALSE(parse_start(std::string(64, 'b'), good).ok());
}

class StartFolderTest : public testing::Test {
   protected:
    void SetUp() override {
        dir_ = std::string(test::scratch_dir()) + "/starts-" +
               testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(dir_);
        std::filesystem::create_directories(dir_);
    }
    void TearDown() override { std::filesystem::remove_all(dir_); }
    StartFolder folder(const std::string& model = "model", std::size_t max_bytes = 0) {
        return {dir_, model, nullptr, [this](LogLevel, std::string_view text) { log_.emplace_back(text); },
                max_bytes};
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(dir_)) names.push_back(entry.path());
        return names;
    }
    std::string dir_;
    std::vector<std::string> log_;
};

TEST_F(StartFolderTest, AnotherRunFindsIt) {
    folder().keep(StartPart::Prefix, kStartKey, small_start());
    const auto found = folder().find(StartPart::Prefix, kStartKey);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->layers[1].hidden, small_start()->layers[1].hidden);
    EXPECT_EQ(folder("another model").find(StartPart::Prefix, kStartKey), nullptr);
    EXPECT_EQ(folder().find(StartPart::Prefix, std::string(64, 'b')), nullptr);
    EXPECT_THAT(log_, IsEmpty());
    // What depends on a picture does not go to disk.
    EXPECT_FALSE(folder().keeps(StartPart::Front));
    folder().keep(StartPart::Front, std::string(64, 'c'), small_start());
    EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(StartFolderTest, DamageIsOneLineAndTheFileIsReplaced) {
    folder().keep(StartPart::Prefix, kStartKey, small_start());
    const std::string path = files().front();
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    EXPECT_EQ(folder().find(StartPart::Prefix, kStartKey), nullptr);
    ASSERT_THAT(log_, SizeIs(1));
    EXPECT_THAT(log_[0], HasSubstr(path));
    EXPECT_THAT(log_[0], HasSubstr("the text is read again"));
    folder().keep(StartPart::Prefix, kStartKey, small_start());
    EXPECT_NE(folder().find(StartPart::Prefix, kStartKey), nullptr);
    EXPECT_THAT(log_, SizeIs(1));
}

TEST_F(StartFolderTest, TheLeastRecentlyUsedGoesFirst) {
    const std::size_t one = serialise_start(kStartKey, *small_start(1000)).size();
    StartFolder keeping = folder("model", 2 * one + one / 2);
    const auto key = [](char c) { return std::string(64, c); };
    const auto age = [&](int hours) {
        for (const std::string& path : files()) {
            const auto written = std::filesystem::last_write_time(path);
            std::filesystem::last_write_time(path, written - std::chrono::hours(hours));
        }
    };
    keeping.keep(StartPart::Prefix, key('a'), small_start(1000));
    age(2);
    keeping.keep(StartPart::Prefix, key('b'), small_start(1000));
    age(1);
    EXPECT_NE(keeping.find(StartPart::Prefix, key('a')), nullptr);  // used now, older than b
    keeping.keep(StartPart::Prefix, key('c'), small_start(1000));
    EXPECT_EQ(keeping.find(StartPart::Prefix, key('b')), nullptr);
    EXPECT_NE(keeping.find(StartPart::Prefix, key('a')), nullptr);
    EXPECT_NE(keeping.find(StartPart::Prefix, key('c')), nullptr);
    EXPECT_THAT(files(), SizeIs(2));
    // Listed and removed with the rest of the cache.
    EXPECT_THAT(engine::list_cache(dir_).value(), SizeIs(2));
    EXPECT_THAT(engine::clear_cache(dir_).value(), SizeIs(2));
    EXPECT_THAT(files(), IsEmpty());
}

TEST_F(StartFolderTest, AStampChangesWithTheFile) {
    const std::string path = dir_ + "/model";
    std::ofstream(path) << std::string(300000, 'x');
    const auto before = engine::file_stamp(path);
    ASSERT_TRUE(before.ok()) << before.status().message();
    EXPECT_EQ(*engine::file_stamp(path), *before);
    std::ofstream(path, std::ios::in | std::ios::out) << 'y';
    EXPECT_NE(*engine::file_stamp(path), *before);
    EXPECT_FALSE(engine::file_stamp(dir_ + "/absent").ok());
}

class PrefixOnDisk : public EngineTest {
   protected:
    Result<Answer> ask_with(const std::string& dir, const std::string& question,
                            std::vector<std::string>& log) {
        auto engine = Engine::load({.model = text_path(),
                                    .mmproj = vision_path(),
                                    .n_threads = 1,
                                    .cached_images = 0,
                                    .cache_dir = dir,
                                    .log = [&](LogLevel level, std::string_view text) {
                                        if (level == LogLevel::Warning) log.emplace_back(text);
                                    }});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        AskRequest asked = request();
        asked.question = question;
        return (*engine)->ask(asked);
    }
};

TEST_F(PrefixOnDisk, AnotherRunReadsLessAndGivesTheSameBits) {
    const std::string dir = text_path() + ".cache";
    std::vector<std::string> log;
    const auto first = ask_with(dir, "How many cups are on the table?", log);
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_EQ(first->history.n_tokens, 0U);
    for (const char* question : {"How many cups are on the table?", "What is written on the sign?"}) {
        const auto again = ask_with(dir, question, log);
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_GT(again->history.n_tokens, 0U);
        AskRequest plain = request();
        plain.question = question;
        EXPECT_EQ(again->logits, ask(plain).logits) << question;
    }
    EXPECT_THAT(log, IsEmpty());
    // A damaged file is told of, and the answer is the same.
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
        if (entry.path().extension() == engine::kPrefixSuffix)
            std::filesystem::resize_file(entry.path(), 100);
    }
    const auto healed = ask_with(dir, "How many cups are on the table?", log);
    ASSERT_TRUE(healed.ok());
    EXPECT_THAT(log, SizeIs(1));
    EXPECT_EQ(healed->history.n_tokens, 0U);
    EXPECT_EQ(healed->logits, first->logits);
    std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace clasp
