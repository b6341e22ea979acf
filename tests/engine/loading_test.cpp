// Loading and remembering: what memory must be there, whose features are taken from a cache, and that the
// number of threads changes no number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "engine/executor.h"
#include "engine/feature_cache.h"
#include "engine/file_identity.h"
#include "engine/memory_check.h"
#include "support/bmp.h"
#include "support/decoder_case.h"
#include "support/paths.h"
#include "support/random_mmproj.h"

namespace clasp::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string scratch(const std::string& name) {
    return std::string(test::scratch_dir()) + "/loading-" + std::to_string(::getpid()) + name;
}

TEST(Memory, WhatCannotFitIsRefusedWithNumbers) {
    const MemoryNeed need = {.mapped_bytes = 4'000'000'000, .kept_bytes = 3'000'000'000};
    MemoryRoom room = {
        .address_bytes = std::nullopt, .total_bytes = 8'000'000'000, .free_bytes = 6'000'000'000};
    const auto fine = judge_memory(need, room);
    ASSERT_TRUE(fine.ok());
    EXPECT_EQ(*fine, "");
    room.free_bytes = 2'000'000'000;
    const auto tight = judge_memory(need, room);
    ASSERT_TRUE(tight.ok()) << "it may still work";
    EXPECT_THAT(*tight, HasSubstr("need at least 3000 MB of memory, but 2000 MB are free"));
    room.total_bytes = 2'500'000'000;
    EXPECT_THAT(judge_memory(need, room).status().message(), HasSubstr("but there are 2500 MB in all"));
    room.address_bytes = 6'500'000'000;
    EXPECT_THAT(
        judge_memory(need, room).status().message(),
        HasSubstr("at least 7000 MB of address space, but the limit of this process (ulimit -v) leaves "
                  "6500 MB"));
    EXPECT_EQ(judge_memory(need, room).status().code(), Code::OutOfMemory);
    EXPECT_GT(memory_room().total_bytes, 0U);
}

TEST(Memory, TheVisionTowersShareFollowsItsBits) {
    const std::string vision = scratch("-need.gguf");
    test::MmprojSpec spec;
    spec.matrix_type = GGML_TYPE_F32;
    {
        std::ofstream out(vision, std::ios::binary);
        test::write_random_mmproj(spec, out);
    }
    const auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    ASSERT_TRUE(compute.ok());
    const auto need = [&](model::VisionWeights weights) {
        return memory_need("", vision, weights, model::DecoderKernels::Ours, **compute).kept_bytes;
    };
    const std::size_t sixteen = need(model::VisionWeights::I16);
    EXPECT_GT(sixteen, 0U);
    EXPECT_NEAR(static_cast<double>(need(model::VisionWeights::Q8)), static_cast<double>(sixteen) * 34 / 64,
                1.0);
    EXPECT_NEAR(static_cast<double>(need(model::VisionWeights::Q4_0)), static_cast<double>(sixteen) * 18 / 64,
                1.0);
    fs::remove(vision);
}

TEST(ContentIdentity, EveryByteCounts) {
    std::vector<std::byte> bytes(std::size_t{9} << 20U, std::byte{7});
    ThreadPool pool(3);
    const std::string name = content_identity(bytes, nullptr);
    EXPECT_EQ(content_identity(bytes, &pool), name);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{1500001}, std::size_t{4} << 20U, bytes.size() - 1}) {
        bytes[at] = std::byte{8};
        EXPECT_NE(content_identity(bytes, &pool), name) << at;
        bytes[at] = std::byte{7};
    }
    EXPECT_EQ(content_identity(bytes, nullptr), name);
    EXPECT_NE(content_identity(std::span(bytes).first(bytes.size() - 1), nullptr), name);
    EXPECT_NE(content_identity({}, nullptr), "");
}

TEST(Cache, FeaturesOfAnotherGridAreEncodedAgain) {
    const std::string text = scratch("-text.gguf");
    const std::string vision = scratch("-mmproj.gguf");
    const fs::path cache = scratch("-cache");
    fs::create_directories(cache);
    ASSERT_TRUE(test::write_random_llama(text, {.n_layers = 2, .width = 96, .n_heads = 3, .n_kv_heads = 3}));
    test::MmprojSpec spec;
    spec.n_blocks = 3;
    {
        std::ofstream out(vision, std::ios::binary);
        test::write_random_mmproj(spec, out);
    }
    const std::string picture = test::make_bmp(12, 8, [](std::uint32_t i) { return i * 7 % 256; });
    AskRequest request;
    request.images = {{{}, picture}};
    request.question = "abc";
    request.vanilla = true;
    request.generation.max_tokens = 1;
    request.want_logits = true;
    const auto ask = [&](const std::string& weights = "auto") {
        auto engine = Engine::load({.model = text,
                                    .mmproj = vision,
                                    .vision_weights = weights,
                                    .n_threads = 1,
                                    .use_gpu = false,
                                    .cache_dir = cache.string()});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        auto answer = (*engine)->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    };
    const Answer fresh = ask();
    fs::path file;
    for (const auto& entry : fs::directory_iterator(cache)) {
        if (entry.path().extension() == kFeatureSuffix) file = entry.path();
    }
    ASSERT_FALSE(file.empty());
    EXPECT_EQ(ask().timings.encode_ms, 0.0) << "found in the cache";

    // A sound file under the right name, of another tower's shape.
    const FeatureKey key = file.stem().string();
    model::VisionLayers foreign;
    foreign.shape.patches = {2, 2};
    foreign.width = spec.width;
    foreign.layers.push_back({2, std::vector<float>(4 * spec.width, 1.0F)});
    std::ofstream(file, std::ios::binary) << serialise_layers(key, foreign);
    const Answer again = ask();
    EXPECT_EQ(again.logits, fresh.logits);
    ASSERT_FALSE(again.notes.empty());
    EXPECT_THAT(again.notes.front(), HasSubstr("the picture is encoded again"));
    const Answer mended = ask();
    EXPECT_EQ(mended.timings.encode_ms, 0.0) << "the file was replaced";
    EXPECT_EQ(mended.logits, fresh.logits);

    // Features are those of a tower and of how its weights are kept.
    EXPECT_GT(ask("q8").timings.encode_ms, 0.0);
    EXPECT_EQ(ask("q8").timings.encode_ms, 0.0);
    EXPECT_EQ(ask().timings.encode_ms, 0.0) << "both are kept";
    fs::remove_all(cache);
    fs::remove(text);
    fs::remove(vision);
}

TEST(Log, WhatLibllamaSaysWhileLoadingReachesTheSinkOfThatEngine) {
    const std::string text = scratch("-logged.gguf");
    ASSERT_TRUE(test::write_random_llama(text, {.n_layers = 1}));
    std::vector<std::string> lines;
    EngineOptions options = {.model = text, .n_threads = 1, .use_gpu = false};
    options.log = [&lines](LogLevel level, std::string_view line) {
        if (level == LogLevel::Debug) lines.emplace_back(line);
    };
    ASSERT_TRUE(Engine::load(options).ok());
    EXPECT_THAT(lines, testing::Contains(HasSubstr("llama.cpp: ")));
    const std::size_t n_lines = lines.size();
    options.log = {};
    ASSERT_TRUE(Engine::load(options).ok());
    EXPECT_EQ(lines.size(), n_lines) << "another engine's";
    fs::remove(text);
}

// ggml divides long attention among its threads: rounding must not show how many there are.
TEST(Threads, ChangeNoNumberOfALongDecode) {
    for (const std::int32_t n_kv_heads : {1, 2, 3}) {
        const test::RandomLlama spec = {.n_layers = 1,
                                        .width = 96,
                                        .n_heads = 6,
                                        .n_kv_heads = n_kv_heads,
                                        .ffn_width = 128,
                                        .has_fused_qkv = n_kv_heads == 2};
        const std::string path = scratch("-threads.gguf");
        ASSERT_TRUE(test::write_random_llama(path, spec));
        std::vector<std::vector<float>> expected;
        for (const std::size_t n_threads : {1U, 2U, 3U, 4U}) {
            const auto compute = model::Compute::create({.n_threads = n_threads, .use_gpu = false});
            ASSERT_TRUE(compute.ok()) << compute.status().message();
            const auto model = model::TextModel::load(path, *compute);
            ASSERT_TRUE(model.ok()) << model.status().message();
            const auto executor = Executor::create(*model);
            ASSERT_TRUE(executor.ok());
            auto sequence = Sequence::create(*model);
            ASSERT_TRUE(sequence.ok());
            const test::DecoderCase prompt(**model, {8, 9}, {700});
            PrefillRequest request;
            request.parts = prompt.parts();
            request.room = 8;
            std::vector<std::vector<float>> found;
            auto read = (*executor)->prefill(*sequence, request);
            ASSERT_TRUE(read.ok()) << read.status().message();
            found.push_back(read->logits);
            for (std::int32_t token = 5; token < 7; ++token) {
                const auto logits = (*executor)->step(*sequence, token);
                ASSERT_TRUE(logits.ok()) << logits.status().message();
                found.emplace_back(logits->begin(), logits->end());
            }
            if (expected.empty()) expected = found;
            EXPECT_EQ(found, expected) << n_threads << " threads, " << n_kv_heads << " key heads";
        }
        fs::remove(path);
    }
}

TEST(Threads, TooManyAreRefusedWithTheLimit) {
    const std::size_t limit = base::max_threads();
    if (limit >= GGML_MAX_N_THREADS) GTEST_SKIP() << "a machine with so many processors";
    EXPECT_TRUE(model::Compute::create({.n_threads = limit, .use_gpu = false}).ok());
    const Status status = model::Compute::create({.n_threads = limit + 1, .use_gpu = false}).status();
    EXPECT_EQ(status.code(), Code::InvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("the limit is " + std::to_string(limit)));
}

}  // namespace
}  // namespace clasp::engine
