// An engine over a small model with random weights, for tests of whole requests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "clasp/engine.h"
#include "support/family_files.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace clasp {

inline constexpr std::size_t kTokens = 64;  // 8 x 8 patches

using test::picture;

class EngineTest : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        // Cases run as programs of their own, several at a time: each writes files of its own.
        const std::string prefix = std::string(test::scratch_dir()) + "/engine-" + std::to_string(getpid());
        text_path() = prefix + "-text.gguf";
        vision_path() = prefix + "-mmproj.gguf";
        test::RandomLlama text;
        text.n_layers = 8;
        text.width = 96;
        text.n_heads = 3;
        text.n_kv_heads = 3;
        text.vocabulary_file = std::string(test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
        ASSERT_TRUE(test::write_random_llama(text_path(), text));
        test::MmprojSpec vision;
        vision.image_size = 112;
        vision.n_blocks = 23;
        vision.output_width = 96;
        std::ofstream out(vision_path(), std::ios::binary);
        test::write_random_mmproj(vision, out);
        out.close();
        auto engine = Engine::load({.model = text_path(), .mmproj = vision_path(), .n_threads = 1});
        ASSERT_TRUE(engine.ok()) << engine.status().message();
        shared() = std::move(engine).value();
    }
    static void TearDownTestSuite() {
        shared().reset();
        std::filesystem::remove(text_path());
        std::filesystem::remove(vision_path());
    }

    static std::string& text_path() {
        static std::string path;
        return path;
    }
    static std::string& vision_path() {
        static std::string path;
        return path;
    }
    static std::unique_ptr<Engine>& shared() {
        static std::unique_ptr<Engine> engine;
        return engine;
    }
    static const Engine& engine() { return *shared(); }

    AskRequest request() const {
        AskRequest request;
        request.images = {{{}, picture_}};
        request.question = "How many cups are on the table?";
        request.generation.max_tokens = 4;
        request.want_logits = true;
        return request;
    }

    static Answer ask(const AskRequest& request) {
        auto answer = engine().ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }
    static std::string error_of(const AskRequest& request) {
        return engine().ask(request).status().message();
    }

    std::string picture_ = picture(1);
};

}  // namespace clasp
