// The methods that act before the decoder, each with every choice of its options, over small random models.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "methods/method.h"
#include "support/bmp.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace clasp {
namespace {

constexpr std::uint32_t kSide = 96;  // of the pictures, in pixels

// A 24-bit BMP whose values vary from place to place.
std::string seeded_picture(std::uint32_t seed) {
    return test::make_bmp(kSide, kSide, [seed](std::uint32_t i) { return i * (i / 97 + seed) % 251; });
}

class BeforeDecoder : public testing::Test {
   protected:
    static void SetUpTestSuite() {
        const std::string prefix = std::string(test::scratch_dir()) + "/before-" + std::to_string(getpid());
        files() = {prefix + "-text.gguf", prefix + "-mmproj.gguf"};
        test::RandomLlama text;
        text.n_layers = 4;
        text.width = 96;
        text.n_heads = 3;
        text.n_kv_heads = 3;
        text.vocabulary_file = std::string(test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
        ASSERT_TRUE(test::write_random_llama(files()[0], text));
        test::MmprojSpec vision;
        vision.image_size = 84;  // 6 x 6 patches
        vision.n_blocks = 9;
        vision.output_width = 96;
        std::ofstream out(files()[1], std::ios::binary);
        test::write_random_mmproj(vision, out);
        out.close();
        auto engine = Engine::load({.model = files()[0], .mmproj = files()[1], .n_threads = 1});
        ASSERT_TRUE(engine.ok()) << engine.status().message();
        shared() = std::move(engine).value();
    }
    static void TearDownTestSuite() {
        shared().reset();
        for (const std::string& file : files()) std::filesystem::remove(file);
    }
    static std::vector<std::string>& files() {
        static std::vector<std::string> paths;
        return paths;
    }
    static std::unique_ptr<Engine>& shared() {
        static std::unique_ptr<Engine> engine;
        return engine;
    }

    AskRequest request(const std::string& method, double budget) const {
        AskRequest request;
        request.images = {{{}, first_}};
        request.question = "What is on the left of the red cup?";
        request.generation.max_tokens = 2;
        request.want_logits = true;
        request.method = method;
        request.budget = {BudgetSpec::Kind::Tokens, budget};
        return request;
    }
    static Answer ask(const AskRequest& request) {
        auto answer = shared()->ask(request);
        EXPECT_TRUE(answer.ok()) << answer.status().message();
        return answer.ok() ? std::move(answer).value() : Answer();
    }

    std::string first_ = seeded_picture(3);
    std::string second_ = seeded_picture(8);
};

const std::vector<std::string>& names() {
    static const std::vector<std::string> kNames = {
        "cdpruner",  "divprune", "fastervlm",    "ficoco-v",     "hired",     "holov",    "prumerge",
        "prumerge+", "tome",     "uniform-grid", "uniform-pool", "visionzip", "vispruner"};
    return kNames;
}

void expect_numbers(const Answer& answer) {
    EXPECT_FALSE(answer.logits.empty());
    EXPECT_TRUE(
        std::all_of(answer.logits.begin(), answer.logits.end(), [](float x) { return std::isfinite(x); }));
}

TEST_F(BeforeDecoder, ExactlyTheBudgetEntersAndStays) {
    for (const std::string& name : names()) {
        for (const double budget : {30.0, 13.0, 5.0}) {
            SCOPED_TRACE(name + " " + std::to_string(budget));
            const Answer answer = ask(request(name, budget));
            EXPECT_EQ(static_cast<double>(answer.tokens.entering), budget);
            EXPECT_EQ(static_cast<double>(answer.tokens.final), budget);
            EXPECT_DOUBLE_EQ(answer.tokens.average, budget);
            expect_numbers(answer);
        }
    }
}

TEST_F(BeforeDecoder, NuwaMeetsTheAverageWithTwoCounts) {
    for (const double budget : {18.0, 12.0, 6.0}) {
        const Answer answer = ask(request("nuwa", budget));
        EXPECT_NEAR(answer.tokens.average, budget, 1.0);
        EXPECT_LT(answer.tokens.final, answer.tokens.entering);
        expect_numbers(answer);
    }
}

TEST_F(BeforeDecoder, EveryChoiceOfEveryOptionRuns) {
    for (const methods::Method& method : methods::all_methods()) {
        const std::string name(method.name);
        if (name != "nuwa" && std::find(names().begin(), names().end(), name) == names().end()) continue;
        for (const methods::OptionSpec& option : method.options) {
            for (const std::string_view choice : option.choices) {
                AskRequest asked = request(name, 12.0);
                asked.method_options = {std::string(option.name) + "=" + std::string(choice)};
                SCOPED_TRACE(name + " " + asked.method_options[0]);
                expect_numbers(ask(asked));
            }
        }
    }
}

TEST_F(BeforeDecoder, TwoPicturesShareTheBudget) {
    for (const std::string& name : names()) {
        SCOPED_TRACE(name);
        AskRequest both = request(name, 26.0);
        both.images.push_back({{}, second_});
        const Answer answer = ask(both);
        EXPECT_EQ(answer.tokens.entering, 26U);
        EXPECT_EQ(ask(both).logits, answer.logits);
        expect_numbers(answer);
    }
}

TEST_F(BeforeDecoder, TheAnswerSaysWhatStoodInForWhat) {
    const Answer answer = ask(request("cdpruner", 12.0));
    const auto says = [&answer](std::string_view part) {
        return std::any_of(answer.notes.begin(), answer.notes.end(),
                           [&](const std::string& note) { return note.find(part) != std::string::npos; });
    };
    EXPECT_TRUE(says("no CLIP text tower"));
}

}  // namespace
}  // namespace clasp
