// Whole requests with llama.cpp's numbers against libmtmd and libllama over the same files: the same prompt,
// the same rows, the logits of its last token and a greedy answer.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "clasp/image.h"
#include "support/decoder_case.h"
#include "support/family_files.h"
#include "support/greedy_answer.h"
#include "support/llama_oracle.h"
#include "support/mtmd_oracle.h"

namespace clasp {
namespace {

using test::picture;

enum class SiglipFamily : std::uint8_t { SmolVlm, Gemma3 };

// As the template of each family writes a question about pictures.
std::string prompt_of(SiglipFamily family, std::size_t n_pictures, const std::string& question) {
    std::string text = family == SiglipFamily::SmolVlm ? "<|im_start|>User:" : "<start_of_turn>user\n";
    for (std::size_t i = 0; i < n_pictures; ++i) text += mtmd_default_marker();
    text += question;
    return text + (family == SiglipFamily::SmolVlm ? "<end_of_utterance>\nAssistant:"
                                                   : "<end_of_turn>\n<start_of_turn>model\n");
}

class SiglipMtmd : public testing::TestWithParam<std::tuple<SiglipFamily, ggml_type>> {};

TEST_P(SiglipMtmd, AnswersAgree) {
    const auto& [family, type] = GetParam();
    const bool is_smolvlm = family == SiglipFamily::SmolVlm;
    const test::RandomLlama spec =
        is_smolvlm ? test::smolvlm_family_text(type) : test::gemma3_family_text(type);
    const auto width = static_cast<std::size_t>(spec.width);
    const test::MmprojSpec tower =
        is_smolvlm ? test::smolvlm_family_vision(width) : test::gemma3_family_vision(width);
    const test::FamilyFiles files(std::string(is_smolvlm ? "smolvlm-" : "gemma3-") + ggml_type_name(type),
                                  spec, test::random_mmproj(tower));
    // Numbers are compared with libllama's.
    const auto engine = files.load({.vision_weights = "file", .kernels = "ggml"});
    ASSERT_NE(engine, nullptr);
    const auto text = model::TextModel::load(
        files.text(), *model::Compute::create({.n_threads = 1, .use_gpu = false}), {.repack = false});
    ASSERT_TRUE(text.ok()) << text.status().message();
    test::MtmdOracle oracle(files.vision(), 1, false, (*text)->handle());
    ASSERT_TRUE(oracle.ok());
    test::LlamaOracle decoder(**text, 1024);
    // Long enough that no batch of libllama's runs on the kernels for few rows.
    const std::string question =
        "how many cups and how many plates are on the table in the middle of the room?";

    const std::vector<std::vector<PixelSize>> requests = {{{120, 90}}, {{33, 130}, {128, 128}}};
    for (const std::vector<PixelSize>& sizes : requests) {
        AskRequest request;
        request.question = question;
        request.vanilla = true;
        request.compat = Compat::LlamaCpp;
        request.want_logits = true;
        request.generation.max_tokens = 32;
        std::vector<std::string> files_of_pictures;
        std::vector<Image> images;
        for (const PixelSize size : sizes) {
            files_of_pictures.push_back(picture(static_cast<unsigned>(images.size()) + 1,
                                                static_cast<std::uint32_t>(size.width),
                                                static_cast<std::uint32_t>(size.height)));
            const std::string& bytes = files_of_pictures.back();
            auto image = decode_image({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
            ASSERT_TRUE(image.ok());
            images.push_back(std::move(*image));
        }
        for (const std::string& bytes : files_of_pictures) request.images.push_back({{}, bytes});
        const auto answer = engine->ask(request);
        ASSERT_TRUE(answer.ok()) << answer.status().message();

        const std::vector<test::MtmdOracle::Chunk> chunks =
            oracle.see_prompt(prompt_of(family, sizes.size(), question), images, width);
        ASSERT_FALSE(chunks.empty());
        std::vector<engine::PromptPart> parts;
        std::size_t n_text = 0;
        std::size_t n_visual = 0;
        for (const auto& chunk : chunks) {
            parts.push_back({.tokens = chunk.text, .embeddings = chunk.rows});
            n_text += chunk.text.size();
            n_visual += chunk.rows.size() / width;
        }
        EXPECT_EQ(answer->tokens.visual, n_visual);
        EXPECT_EQ(answer->tokens.text, n_text);
        const std::vector<float> logits = decoder.prefill(parts);
        ASSERT_FALSE(logits.empty());
        const bool is_single = type == GGML_TYPE_F32;
        // Small batches of libllama's (Gemma 3: one for each part) work in half precision; the engine has
        // Q4_K in the processor's own layout, libllama here as the file has it.
        const double tolerance = type == GGML_TYPE_Q4_K ? 0.15 : 2e-2;
        EXPECT_LT(test::relative_distance(answer->logits, logits), tolerance);
        if (!is_single) continue;
        const test::GreedyAnswer expected = test::greedy_answer(decoder, **text, logits, 32);
        EXPECT_EQ(expected.n_tokens, 32U) << "the seed must be one of a long answer";
        EXPECT_EQ(answer->generated, expected.n_tokens);
        EXPECT_EQ(answer->text, expected.text);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, SiglipMtmd,
    testing::Combine(testing::Values(SiglipFamily::SmolVlm, SiglipFamily::Gemma3),
                     testing::Values(GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K)),
    [](const auto& test) {
        return std::string(std::get<0>(test.param) == SiglipFamily::SmolVlm ? "SmolVlm_" : "Gemma3_") +
               ggml_type_name(std::get<1>(test.param));
    });

}  // namespace
}  // namespace clasp
