// Packed weights that stay between runs: a second start maps them and answers the same, and whatever is wrong
// with them costs one line and a repacking, never an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "clasp/engine.h"
#include "engine/cache_folder.h"
#include "engine/executor.h"
#include "model/quant_matrix.h"
#include "support/decoder_case.h"
#include "support/paths.h"

namespace clasp::engine {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PackedWeights : public testing::Test {
   protected:
    void SetUp() override {
        if (!model::QuantMatrix::is_fast()) GTEST_SKIP() << "this processor has no kernels of ours";
        const std::string base = std::string(test::scratch_dir()) + "/packed-" + std::to_string(::getpid());
        path_ = base + ".gguf";
        folder_ = base + "-folder/made/on/demand";
        write_model(1);
    }
    void TearDown() override {
        fs::remove(path_);
        fs::remove_all(fs::path(folder_).parent_path().parent_path().parent_path());
    }

    void write_model(std::uint64_t seed, ggml_type type = GGML_TYPE_Q4_0) const {
        test::RandomLlama spec;
        spec.n_layers = 2;
        spec.width = 256;
        spec.ffn_width = 512;
        spec.type = type;
        spec.seed = seed;
        ASSERT_TRUE(test::write_random_llama(path_, spec));
    }

    struct Loaded {
        std::vector<float> logits;
        bool is_mapped = false;
        std::vector<std::string> warnings;
    };
    // NOLINTNEXTLINE(modernize-use-nodiscard): some load to leave a file behind
    Loaded load(model::PackedFolder folder, std::size_t n_threads = 1) const {
        Loaded loaded;
        const auto log = [&](LogLevel level, std::string_view text) {
            if (level == LogLevel::Warning) loaded.warnings.emplace_back(text);
        };
        const auto compute = model::Compute::create({.n_threads = n_threads, .use_gpu = false});
        const auto model = model::TextModel::load(path_, *compute, {.packed = std::move(folder), .log = log});
        EXPECT_TRUE(model.ok()) << model.status().message();
        if (!model.ok()) return loaded;
        EXPECT_TRUE((*model)->repacked()->wait_until_kept().ok());
        loaded.is_mapped = (*model)->repacked()->is_mapped();
        const test::DecoderCase prompt(**model, {4, 7}, {40});
        auto executor = Executor::create(*model);
        auto sequence = Sequence::create(*model);
        const auto read = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 2});
        EXPECT_TRUE(read.ok()) << read.status().message();
        if (read.ok()) loaded.logits = read->logits;
        return loaded;
    }
    [[nodiscard]] model::PackedFolder folder() const { return {.path = folder_, .min_bytes = 0}; }
    [[nodiscard]] std::vector<CacheFile> files() const {
        auto listed = list_cache(folder_);
        return listed.ok() ? *listed : std::vector<CacheFile>();
    }
    [[nodiscard]] std::string only_file() const {
        EXPECT_EQ(files().size(), 1U);
        return folder_ + "/" + files().front().name;
    }

    std::string path_;
    std::string folder_;
};

TEST_F(PackedWeights, TheSecondStartMapsThemAndAnswersTheSame) {
    const Loaded without = load({});
    EXPECT_FALSE(without.is_mapped);
    const Loaded first = load(folder(), 2);
    EXPECT_FALSE(first.is_mapped);
    EXPECT_THAT(first.warnings, IsEmpty());
    const Loaded second = load(folder());
    EXPECT_TRUE(second.is_mapped);
    EXPECT_EQ(first.logits, without.logits);
    EXPECT_EQ(second.logits, without.logits);
    EXPECT_EQ(files().size(), 1U);
}

TEST_F(PackedWeights, WhatIsCutShortOrDamagedIsPackedAgainWithOneLine) {
    const Loaded first = load(folder());
    const std::string file = only_file();
    const std::string whole = *base::read_file(file, std::size_t{1} << 30U);
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 4);
    for (const std::string& bytes : {whole.substr(0, whole.size() / 2), damaged, std::string("CLASPPW1")}) {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
        const Loaded again = load(folder());
        EXPECT_FALSE(again.is_mapped);
        EXPECT_THAT(again.warnings,
                    ElementsAre(testing::AllOf(HasSubstr(file), HasSubstr("the weights are packed again"))));
        EXPECT_EQ(again.logits, first.logits);
        EXPECT_TRUE(load(folder()).is_mapped) << "the file was replaced";
        EXPECT_EQ(*base::read_file(file, std::size_t{1} << 30U), whole)
            << "the same bytes on any number of threads";
    }
}

TEST_F(PackedWeights, AnotherModelAtTheSamePlaceHasAFileOfItsOwn) {
    load(folder());
    write_model(2);
    const Loaded other = load(folder());
    EXPECT_FALSE(other.is_mapped);
    EXPECT_THAT(other.warnings, IsEmpty());
    EXPECT_EQ(other.logits, load({}).logits);
    EXPECT_TRUE(load(folder()).is_mapped);
    EXPECT_EQ(files().size(), 2U);
}

TEST_F(PackedWeights, SmallModelsAndOtherKernelsKeepNothing) {
    model::PackedFolder picky = folder();
    picky.min_bytes = std::size_t{1} << 30U;
    EXPECT_THAT(load(picky).warnings, IsEmpty());
    EXPECT_FALSE(fs::exists(folder_));
    write_model(1, GGML_TYPE_F16);  // which ggml multiplies
    load({.path = folder_, .min_bytes = 1});
    EXPECT_THAT(files(), IsEmpty());
}

TEST_F(PackedWeights, TheOldestMakeRoomAndNothingElse) {
    load(folder());
    const std::string first = only_file();
    std::ofstream(folder_ + "/notes.txt") << "mine";
    std::ofstream(folder_ + "/" + std::string(64, 'a') + ".packed") << "not written by us";
    fs::last_write_time(first, fs::file_time_type::clock::now() - std::chrono::hours(2));
    write_model(2);
    model::PackedFolder narrow = folder();
    narrow.max_bytes = fs::file_size(first) * 3 / 2;
    EXPECT_THAT(load(narrow).warnings, IsEmpty());
    EXPECT_FALSE(fs::exists(first));
    EXPECT_TRUE(load(narrow).is_mapped);
    EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
    EXPECT_TRUE(fs::exists(folder_ + "/" + std::string(64, 'a') + ".packed"));

    narrow.max_bytes = 1000;
    fs::remove(only_file());
    EXPECT_THAT(load(narrow).warnings, ElementsAre(HasSubstr("exceed")));
    EXPECT_THAT(files(), IsEmpty());
}

TEST_F(PackedWeights, UsingAFileMakesItTheYoungest) {
    load(folder());
    const std::string file = only_file();
    const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
    fs::last_write_time(file, long_ago);
    EXPECT_TRUE(load(folder()).is_mapped);
    EXPECT_GT(fs::last_write_time(file), long_ago + std::chrono::hours(1));
}

TEST_F(PackedWeights, AFolderThatCannotBeMadeIsAWarning) {
    const std::string blocked = path_ + "-file";
    std::ofstream(blocked) << "no folder";
    const Loaded loaded = load({.path = blocked, .min_bytes = 0});
    EXPECT_THAT(loaded.warnings,
                ElementsAre(HasSubstr("the packed weights are not kept for the next start")));
    EXPECT_EQ(loaded.logits, load({}).logits);
    fs::remove(blocked);
}

TEST_F(PackedWeights, TheEngineKeepsThemWhereItIsToldAndClearingRemovesThem) {
    const auto load_engine = [&](const std::string& packed) {
        const auto engine =
            Engine::load({.model = path_, .n_threads = 1, .use_gpu = false, .packed = packed});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
    };
    load_engine("none");
    load_engine("auto");
    EXPECT_FALSE(fs::exists(folder_));
    load_engine(folder_);
    EXPECT_EQ(files().size(), 1U) << "an engine that ends at once finishes a small file";
    fs::remove(only_file());
    const auto engine = Engine::load({.model = path_, .n_threads = 1, .use_gpu = false, .packed = folder_});
    ASSERT_TRUE(engine.ok());
    const std::atomic<bool> cancel{false};
    EXPECT_TRUE((*engine)->finish_keeping({}, &cancel).ok());
    EXPECT_EQ(files().size(), 1U) << "while the engine lives";
    EXPECT_TRUE((*engine)->finish_keeping({}, nullptr).ok()) << "nothing is left to write";
    const auto removed = clear_cache(folder_);
    ASSERT_TRUE(removed.ok());
    EXPECT_EQ(removed->size(), 1U);
    EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace clasp::engine
