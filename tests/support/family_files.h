// The two files of a small model in the scratch folder, an engine over them, and questions about pictures.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "clasp/engine.h"
#include "support/bmp.h"
#include "support/family_models.h"
#include "support/paths.h"

namespace clasp::test {

// A 24-bit BMP whose colours vary from place to place.
inline std::string picture(unsigned seed, std::uint32_t width = 60, std::uint32_t height = 44) {
    return make_bmp(width, height, [seed](std::uint32_t value) {
        const std::uint32_t i = value / 3;
        return (i * (value % 3 + 3) * (seed + 1) / 7 + i % 13 * 9) % 256;
    });
}

inline std::string picture(unsigned seed, PixelSize size) {
    return picture(seed, static_cast<std::uint32_t>(size.width), static_cast<std::uint32_t>(size.height));
}

inline AskRequest question_about(const std::string& picture) {
    AskRequest request;
    request.images = {{{}, picture}};
    request.question = "how many cups are on the table";
    request.generation.max_tokens = 2;
    request.want_logits = true;
    return request;
}

// Written when it is made, deleted with it. Cases run as programs of their own, several at a time: each
// writes files of its own.
class FamilyFiles {
   public:
    FamilyFiles(const std::string& name, const RandomLlama& text, const std::string& vision)
        : prefix_(std::string(scratch_dir()) + "/" + name + "-" + std::to_string(getpid())) {
        EXPECT_TRUE(write_random_llama(this->text(), text));
        std::ofstream(this->vision(), std::ios::binary) << vision;
    }
    explicit FamilyFiles(const FamilyModel& model) : FamilyFiles(model.name, model.text, model.vision) {}
    ~FamilyFiles() {
        std::filesystem::remove(text());
        std::filesystem::remove(vision());
    }
    FamilyFiles(const FamilyFiles&) = delete;
    FamilyFiles& operator=(const FamilyFiles&) = delete;

    [[nodiscard]] std::string text() const { return prefix_ + "-text.gguf"; }
    [[nodiscard]] std::string vision() const { return prefix_ + "-mmproj.gguf"; }
    [[nodiscard]] std::unique_ptr<Engine> load(EngineOptions options = {}) const {
        options.model = text();
        options.mmproj = vision();
        options.n_threads = 1;
        auto engine = Engine::load(options);
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        return engine.ok() ? std::move(engine).value() : nullptr;
    }

   private:
    std::string prefix_;
};

// An answer that there must be.
inline Answer answer_of(const Engine& engine, const AskRequest& request) {
    auto answer = engine.ask(request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? std::move(answer).value() : Answer();
}

}  // namespace clasp::test
