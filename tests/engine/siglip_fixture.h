// Small SmolVLM and Gemma 3 models in files, and an engine over them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clasp/engine.h"
#include "engine_fixture.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_siglip.h"
#include "support/siglip_words.h"

namespace clasp {

enum class SiglipFamily : std::uint8_t { SmolVlm, Gemma3 };

// Tiles of 4 tokens, up to 4 x 4 of them; or one square of 8 x 8 tokens.
inline test::MmprojSpec siglip_vision(SiglipFamily family, std::size_t output_width) {
    const bool is_smolvlm = family == SiglipFamily::SmolVlm;
    test::MmprojSpec spec = is_smolvlm ? test::smolvlm_mmproj() : test::gemma3_mmproj();
    spec.n_blocks = 6;
    spec.output_width = output_width;
    spec.matrix_type = GGML_TYPE_F32;
    if (is_smolvlm) spec.longest_side = 128;
    if (!is_smolvlm) spec.image_size = 128;
    return spec;
}

// Gemma 3's decoder has windows of 16 positions, so that pictures and prompts are longer than they.
inline test::RandomLlama siglip_text(SiglipFamily family, ggml_type type = GGML_TYPE_F32) {
    const bool is_smolvlm = family == SiglipFamily::SmolVlm;
    const test::RandomLlama words = test::siglip_words();
    test::RandomLlama spec = test::random_architecture(is_smolvlm ? "llama" : "gemma3");
    spec.n_layers = 8;
    spec.width = 96;
    spec.seed = 5;  // one of long answers
    if (is_smolvlm) spec.n_heads = spec.n_kv_heads = 3;
    if (type != GGML_TYPE_F32) spec = test::widened(spec, type);
    spec.control_tokens = words.control_tokens;
    spec.word_tokens = words.word_tokens;
    spec.adds_space = false;
    return spec;
}

// The two files of a model; they are deleted with it.
class SiglipFiles {
   public:
    explicit SiglipFiles(SiglipFamily family, ggml_type type = GGML_TYPE_F32)
        : family_(family), spec_(siglip_text(family, type)) {
        prefix_ = std::string(test::scratch_dir()) + "/siglip-" + std::to_string(getpid()) +
                  (family == SiglipFamily::SmolVlm ? "-smolvlm-" : "-gemma3-") + ggml_type_name(type);
        EXPECT_TRUE(test::write_random_llama(text(), spec_));
        std::ofstream out(vision(), std::ios::binary);
        test::write_random_mmproj(vision_spec(), out);
    }
    ~SiglipFiles() {
        std::filesystem::remove(text());
        std::filesystem::remove(vision());
    }
    SiglipFiles(const SiglipFiles&) = delete;
    SiglipFiles& operator=(const SiglipFiles&) = delete;

    [[nodiscard]] std::string text() const { return prefix_ + "-text.gguf"; }
    [[nodiscard]] std::string vision() const { return prefix_ + "-mmproj.gguf"; }
    [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(spec_.width); }
    [[nodiscard]] test::MmprojSpec vision_spec() const { return siglip_vision(family_, width()); }
    [[nodiscard]] std::unique_ptr<Engine> load(std::size_t cached_images = 0) const {
        auto engine = Engine::load({.model = text(),
                                    .mmproj = vision(),
                                    .vision_weights = "file",
                                    .kernels = "ggml",  // numbers are compared with libllama's
                                    .n_threads = 1,
                                    .cached_images = cached_images});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        return engine.ok() ? std::move(engine).value() : nullptr;
    }

   private:
    SiglipFamily family_;
    test::RandomLlama spec_;
    std::string prefix_;
};

}  // namespace clasp
