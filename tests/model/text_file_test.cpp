// Text models that are damaged or hostile: an error, never an abort.
#include <gguf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "model/text_model.h"
#include "support/paths.h"
#include "support/random_llama.h"

namespace clasp::model {
namespace {

class TextFile : public testing::Test {
   protected:
    void SetUp() override {
        path_ = std::string(test::scratch_dir()) + "/text_file_" + std::to_string(::getpid()) + ".gguf";
        ASSERT_TRUE(test::write_random_llama(
            path_, {.n_layers = 1, .width = 8, .n_heads = 2, .n_kv_heads = 1, .ffn_width = 8}));
        std::ifstream in(path_, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), {});
        auto compute = Compute::create({.n_threads = 1, .use_gpu = false});
        ASSERT_TRUE(compute.ok());
        compute_ = *compute;
    }
    void TearDown() override { std::remove(path_.c_str()); }

    void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
    [[nodiscard]] Status load() const { return TextModel::load(path_, compute_).status(); }

    // Loads the file after a change of its metadata.
    Status load_changed(const std::function<void(gguf_context*)>& change) {
        write(bytes_);
        gguf_context* file = gguf_init_from_file(path_.c_str(), {.no_alloc = true, .ctx = nullptr});
        const std::string data = bytes_.substr(gguf_get_data_offset(file));
        change(file);
        gguf_write_to_file(file, path_.c_str(), true);
        gguf_free(file);
        std::ofstream(path_, std::ios::binary | std::ios::app) << data;
        return load();
    }

    std::string path_;
    std::string bytes_;
    std::shared_ptr<Compute> compute_;
};

TEST_F(TextFile, LoadsWhenWhole) {
    const Status status = load();
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(TextFile, EveryTruncationIsAnError) {
    for (std::size_t n = 0; n < bytes_.size();
         n += n < 200 || n + 200 > bytes_.size() ? std::size_t{1} : std::size_t{37}) {
        write(bytes_.substr(0, n));
        ASSERT_FALSE(load().ok()) << "cut to " << n << " of " << bytes_.size() << " bytes";
    }
}

// Flips in the header and the keys may leave a valid file (a letter of a name), but never crash.
TEST_F(TextFile, FlippedBytesDoNotCrash) {
    const std::size_t end = bytes_.find("tokenizer.ggml.tokens") + 60;
    for (std::size_t i = 0; i < end; ++i) {
        for (const char mask : {'\x01', '\x80', '\xFF'}) {
            std::string changed = bytes_;
            changed[i] = static_cast<char>(changed[i] ^ mask);
            write(changed);
            static_cast<void>(load());
        }
    }
}

TEST_F(TextFile, NumbersOutOfRangeAreNamed) {
    struct Change {
        const char* key;
        std::uint32_t value;
    };
    for (const Change& change :
         {Change{"llama.block_count", 0}, Change{"llama.block_count", 2}, Change{"llama.block_count", 100000},
          Change{"llama.embedding_length", 0}, Change{"llama.embedding_length", 16},
          Change{"llama.attention.head_count", 0}, Change{"llama.attention.head_count", 3},
          Change{"llama.attention.head_count_kv", 0}, Change{"llama.attention.head_count_kv", 7},
          Change{"llama.feed_forward_length", 0xFFFFFFFF}, Change{"llama.context_length", 0},
          Change{"llama.rope.dimension_count", 2}, Change{"llama.expert_count", 8},
          Change{"llama.expert_used_count", 2}, Change{"tokenizer.ggml.bos_token_id", 100000}}) {
        const Status status =
            load_changed([&](gguf_context* file) { gguf_set_val_u32(file, change.key, change.value); });
        EXPECT_FALSE(status.ok()) << change.key << " = " << change.value;
    }
    for (const float epsilon : {-1.0F, 2.0F}) {
        EXPECT_FALSE(load_changed([&](gguf_context* file) {
                         gguf_set_val_f32(file, "llama.attention.layer_norm_rms_epsilon", epsilon);
                     }).ok());
    }
    const Status scaling = load_changed(
        [](gguf_context* file) { gguf_set_val_str(file, "llama.rope.scaling.type", "sideways"); });
    EXPECT_EQ(scaling.code(), Code::Unsupported);
    EXPECT_NE(scaling.message().find("sideways"), std::string::npos);
    const Status arch =
        load_changed([](gguf_context* file) { gguf_set_val_str(file, "general.architecture", "clip"); });
    EXPECT_EQ(arch.code(), Code::Unsupported);
}

TEST_F(TextFile, VocabulariesThatLibllamaWouldAbortOnAreRefused) {
    const std::vector<const char*> twice(285, "same");
    EXPECT_EQ(load_changed([&](gguf_context* file) {
                  gguf_set_arr_str(file, "tokenizer.ggml.tokens", const_cast<const char**>(twice.data()),
                                   twice.size());
              }).code(),
              Code::Corrupt);
    const std::vector<float> few(3, 0.0F);
    EXPECT_EQ(load_changed([&](gguf_context* file) {
                  gguf_set_arr_data(file, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, few.data(), few.size());
              }).code(),
              Code::Corrupt);
    EXPECT_EQ(load_changed([](gguf_context* file) {
                  gguf_set_val_str(file, "tokenizer.ggml.model", "bert");
              }).code(),
              Code::Unsupported);
    EXPECT_FALSE(
        load_changed([](gguf_context* file) { gguf_remove_key(file, "tokenizer.ggml.tokens"); }).ok());
    EXPECT_FALSE(
        load_changed([](gguf_context* file) { gguf_set_val_u32(file, "tokenizer.ggml.model", 5); }).ok());
}

// What inspect calls supported can read any question.
TEST_F(TextFile, VocabulariesWithoutATokenForAByteAreRefused) {
    const auto load_with = [this](const std::string& token, std::int32_t kind) {
        return load_changed([&](gguf_context* file) {
            const std::int64_t kinds_key = gguf_find_key(file, "tokenizer.ggml.token_type");
            const auto* stored = static_cast<const std::int32_t*>(gguf_get_arr_data(file, kinds_key));
            std::vector<std::int32_t> kinds(stored, stored + gguf_get_arr_n(file, kinds_key));
            const std::int64_t key = gguf_find_key(file, "tokenizer.ggml.tokens");
            std::vector<std::string> tokens;
            for (std::size_t i = 0; i < gguf_get_arr_n(file, key); ++i) {
                tokens.emplace_back(gguf_get_arr_str(file, key, i));
                if (tokens.back() == "<0x41>") {
                    tokens.back() = token;
                    kinds[i] = kind;
                }
            }
            gguf_set_arr_data(file, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, kinds.data(), kinds.size());
            std::vector<const char*> texts;
            for (const std::string& text : tokens) texts.push_back(text.c_str());
            gguf_set_arr_str(file, "tokenizer.ggml.tokens", texts.data(), texts.size());
        });
    };
    constexpr std::int32_t kNormal = 1;
    constexpr std::int32_t kByte = 6;
    EXPECT_TRUE(load_with("<0x41>", kByte).ok());
    const Status lacking = load_with("something else", kNormal);
    EXPECT_EQ(lacking.code(), Code::Corrupt);
    EXPECT_NE(lacking.message().find("0x41"), std::string::npos) << lacking.message();
    EXPECT_TRUE(load_with("A", kNormal).ok());
    for (const char* unreadable : {"A", "something else"}) {
        const Status unclear = load_with(unreadable, kByte);
        EXPECT_EQ(unclear.code(), Code::Corrupt);
        EXPECT_NE(unclear.message().find("does not say which"), std::string::npos) << unclear.message();
    }
}

TEST_F(TextFile, MissingFilesAndFoldersAreNamed) {
    const Status missing = TextModel::load(path_ + ".none", compute_).status();
    EXPECT_EQ(missing.code(), Code::NotFound);
    EXPECT_NE(missing.message().find(".none"), std::string::npos);
    EXPECT_FALSE(TextModel::load(test::scratch_dir(), compute_).ok());
}

}  // namespace
}  // namespace clasp::model
