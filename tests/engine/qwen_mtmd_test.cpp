// Whole prompts with pictures through our towers and decoders, and through libmtmd and libllama: the same
// words, the same tokens, the same numbers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/decoder_input.h"
#include "engine/prompt.h"
#include "engine/visual_input.h"
#include "engine_fixture.h"
#include "support/decoder_case.h"
#include "support/mtmd_oracle.h"
#include "support/paths.h"
#include "support/qwen_pair.h"

namespace clasp {
namespace {

using test::QwenKind;

struct PairCase {
    const char* name;
    QwenKind kind;
    ggml_type type;
    double tolerance;  // of logits, in standard deviations
};

class QwenPair : public testing::TestWithParam<PairCase> {
   protected:
    void SetUp() override {
        const test::RandomLlama spec = test::qwen_text(GetParam().kind, GetParam().type);
        const std::string prefix = std::string(test::scratch_dir()) + "/qwen_pair_" + GetParam().name;
        text_path_ = prefix + "_text.gguf";
        vision_path_ = prefix + "_mmproj.gguf";
        ASSERT_TRUE(test::write_random_llama(text_path_, spec));
        auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
        auto text = model::TextModel::load(text_path_, *compute, {.repack = false});
        ASSERT_TRUE(text.ok()) << text.status().message();
        text_ = *text;
        std::ofstream out(vision_path_, std::ios::binary);
        test::write_random_qwen_mmproj(test::qwen_vision(GetParam().kind, spec), out);
        out.close();
        auto vision =
            model::VisionModel::load(vision_path_, {.weights = model::VisionWeights::File}, *compute);
        ASSERT_TRUE(vision.ok()) << vision.status().message();
        vision_ = *vision;
        oracle_ = std::make_unique<test::MtmdOracle>(vision_path_, 1, false, text_->handle());
        ASSERT_TRUE(oracle_->ok());
    }
    void TearDown() override {
        std::filesystem::remove(text_path_);
        std::filesystem::remove(vision_path_);
    }
    static Image decoded(const std::string& file) {
        return decode_image({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}).value();
    }

    std::shared_ptr<const model::TextModel> text_;
    std::shared_ptr<const model::VisionModel> vision_;
    std::string text_path_;
    std::string vision_path_;
    std::unique_ptr<test::MtmdOracle> oracle_;
};

struct FreeContext {
    void operator()(llama_context* context) const { llama_free(context); }
};

TEST_P(QwenPair, LogitsAndGenerationAgreeWithLibmtmdAndLibllama) {
    constexpr std::uint32_t kCells = 1024;
    const std::string files[] = {picture(1, 168, 140), picture(2, 232, 75)};
    const std::string question = "which of the two is larger and what do they show";
    const std::string marker = mtmd_default_marker();
    const bool has_system = GetParam().kind != QwenKind::Qwen3;
    const std::string system =
        has_system ? "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n" : "";
    llama_context_params params = llama_context_default_params();
    params.n_ctx = params.n_batch = params.n_ubatch = kCells;
    params.n_threads = params.n_threads_batch = 1;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    const std::unique_ptr<llama_context, FreeContext> theirs(
        llama_init_from_model(const_cast<llama_model*>(text_->handle()), params));
    ASSERT_NE(theirs, nullptr);
    llama_pos next = oracle_->read_prompt(
        theirs.get(),
        system + "<|im_start|>user\n" + marker + marker + question + "<|im_end|>\n<|im_start|>assistant\n",
        std::vector<Image>{decoded(files[0]), decoded(files[1])});
    ASSERT_GT(next, 0);

    // Ours, by the parts of a request.
    const std::vector<ImageSource> sources = {{{}, files[0]}, {{}, files[1]}};
    const auto planned = engine::plan_pictures(sources, *vision_, {.compat = Compat::LlamaCpp}, nullptr);
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    engine::VisualRequest seeing;
    seeing.compat = Compat::LlamaCpp;
    seeing.mix = {{vision_->info().feature_layer, 1.0}};
    const auto session = model::VisionSession::create(vision_);
    const auto seen = engine::prepare_images(*planned, seeing, **session, nullptr);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    Message message = {Message::Role::User, {}};
    for (const ImageSource& source : sources) message.parts.push_back({.text = {}, .image = source});
    message.parts.push_back({.text = question});
    const auto prompt =
        engine::build_prompt(*text_, std::span(&message, 1), {.words = vision_->info().words});
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    auto executor = engine::Executor::create(text_, {});
    ASSERT_TRUE(executor.ok());
    const auto input = engine::lay_out_decoder(*prompt, *seen, vision_.get(), nullptr,
                                               ReferenceTokens::Instruction, **executor);
    ASSERT_TRUE(input.ok()) << input.status().message();
    engine::PrefillRequest request = input->request();
    request.room = 64;
    auto sequence = engine::Sequence::create(text_, {});
    ASSERT_TRUE(sequence.ok());
    const auto result = (*executor)->prefill(*sequence, request);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(sequence->next_position(), next);

    const auto n = static_cast<std::ptrdiff_t>(text_->config().vocabulary);
    const auto logits_of = [&] {
        const float* logits = llama_get_logits_ith(theirs.get(), -1);
        return std::vector<float>(logits, logits + n);
    };
    std::vector<float> wanted = logits_of();
    std::vector<float> got = result->logits;
    EXPECT_LT(test::relative_distance(got, wanted), GetParam().tolerance);
    for (int i = 0; i < 32; ++i, ++next) {
        const llama_token token = test::argmax(wanted);
        ASSERT_EQ(test::argmax(got), token) << "token " << i;
        ASSERT_TRUE(test::MtmdOracle::read_tokens(theirs.get(), std::span(&token, 1), next));
        wanted = logits_of();
        const auto step = (*executor)->step(*sequence, token);
        ASSERT_TRUE(step.ok()) << step.status().message();
        got.assign(step->begin(), step->end());
        EXPECT_LT(test::relative_distance(got, wanted), GetParam().tolerance) << "token " << i;
    }

    // The same through the front door.
    const auto engine = Engine::load({.model = text_path_,
                                      .mmproj = vision_path_,
                                      .vision_weights = "file",
                                      .kernels = "ggml",
                                      .n_threads = 1});
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    AskRequest asked;
    asked.images = sources;
    asked.question = question;
    asked.vanilla = true;
    asked.compat = Compat::LlamaCpp;
    asked.want_logits = true;
    asked.generation.max_tokens = 1;
    const auto answer = (*engine)->ask(asked);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_LT(test::relative_distance(answer->logits, result->logits), GetParam().tolerance);
    // The original's numbers are others: pictures are stretched instead of padded.
    asked.compat = Compat::Original;
    const auto original = (*engine)->ask(asked);
    ASSERT_TRUE(original.ok()) << original.status().message();
    EXPECT_GT(test::relative_distance(original->logits, result->logits), 0.05);
}

// Small batches run on ggml's half-precision attention, and libmtmd reads a prompt piece by piece.
INSTANTIATE_TEST_SUITE_P(Files, QwenPair,
                         testing::Values(PairCase{"Qwen2F32", QwenKind::Qwen2, GGML_TYPE_F32, 2e-2},
                                         PairCase{"Qwen25F32", QwenKind::Qwen25, GGML_TYPE_F32, 2e-2},
                                         PairCase{"Qwen3F32", QwenKind::Qwen3, GGML_TYPE_F32, 2e-2},
                                         PairCase{"Qwen2Q8_0", QwenKind::Qwen2, GGML_TYPE_Q8_0, 8e-2},
                                         PairCase{"Qwen3Q8_0", QwenKind::Qwen3, GGML_TYPE_Q8_0, 8e-2},
                                         PairCase{"Qwen25Q8_0", QwenKind::Qwen25, GGML_TYPE_Q8_0, 8e-2},
                                         PairCase{"Qwen25Q4_K", QwenKind::Qwen25, GGML_TYPE_Q4_K, 8e-2}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp
