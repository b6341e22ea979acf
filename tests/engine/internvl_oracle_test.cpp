// A question about a picture through InternVL, against libmtmd and libllama over the same files: the prompt,
// the rows of the picture, the logits and the answer.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "engine/arranged_image.h"
#include "engine/prompt.h"
#include "engine_fixture.h"
#include "support/decoder_case.h"
#include "support/llama_oracle.h"
#include "support/mtmd_oracle.h"
#include "support/session.h"

namespace clasp::engine {
namespace {

constexpr std::int32_t kRoom = 40;
constexpr std::uint32_t kCells = 512;
constexpr const char* kQuestion = "How many cups are on the table?";

struct OracleCase {
    const char* name;
    const char* architecture;
    ggml_type type;
    double tolerance;  // of the first logits
};

bool is_phi3(const OracleCase& test_case) {
    return test_case.architecture == std::string("phi3");
}

// The whole prompt, written out.
std::string prompt_of(const OracleCase& test_case, const std::string& system) {
    const std::string asked = std::string(mtmd_default_marker()) + "\n" + kQuestion;
    if (is_phi3(test_case)) {
        return "<|system|>\n" + system + "<|end|>\n<|user|>\n" + asked + "<|end|>\n<|assistant|>\n";
    }
    return "<|im_start|>system\n" + system + "<|im_end|>\n<|im_start|>user\n" + asked +
           "<|im_end|>\n<|im_start|>assistant\n";
}

class InternvlOracle : public testing::TestWithParam<OracleCase> {};

TEST_P(InternvlOracle, ThePromptTheRowsTheLogitsAndTheAnswerAgree) {
    const OracleCase& test_case = GetParam();
    test::RandomLlama spec = test::random_architecture(test_case.architecture);
    spec.control_tokens = {"<|im_start|>", "<|im_end|>", "<img>", "</img>"};
    if (is_phi3(test_case)) {
        spec.control_tokens = {"<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<img>", "</img>"};
    }
    // Files of InternVL on Llama bring their template; without one they would have that of LLaVA.
    if (spec.architecture == "llama") {
        spec.chat_template =
            "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}";
    }
    if (test_case.type != GGML_TYPE_F32) spec = test::widened(spec, test_case.type);
    const auto text =
        test::load_random_llama(std::string("internvl_oracle_") + test_case.name, spec, {.repack = false});

    test::MmprojSpec tower = test::internvl_mmproj();
    tower.image_size = 112;  // 16 tokens to a tile
    tower.output_width = static_cast<std::size_t>(spec.width);
    const std::string path =
        std::string(test::scratch_dir()) + "/internvl_oracle_" + test_case.name + ".gguf";
    std::ofstream(path, std::ios::binary) << test::random_mmproj(tower);
    auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto vision = model::VisionModel::load(path, {.weights = model::VisionWeights::File}, *compute);
    ASSERT_TRUE(vision.ok()) << vision.status().message();

    // Ours.
    const std::string encoded = picture(1, 200, 150);
    const auto session = model::VisionSession::create(*vision);
    const auto planned = plan_pictures({{{}, encoded}}, **vision, {.compat = Compat::LlamaCpp}, nullptr);
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    VisualRequest seeing;
    seeing.compat = Compat::LlamaCpp;
    seeing.mix = {{(*vision)->info().llama_cpp_feature_layer, 1.0}};
    const auto seen = prepare_images(*planned, seeing, **session, nullptr);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    std::int32_t next_line = 0;
    const auto arranged = arrange_image(seen->images[0], false, **vision, *text, next_line);
    ASSERT_TRUE(arranged.ok()) << arranged.status().message();
    Message message;
    message.parts = {{.text = {}, .image = ImageSource()}, {.text = kQuestion}};
    const auto prompt = build_prompt(*text, std::span(&message, 1), {.words = (*vision)->info().words});
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    ASSERT_EQ(prompt->pieces.size(), 3U);
    std::vector<PromptPart> parts = {{.tokens = prompt->pieces[0].tokens}};
    parts.insert(parts.end(), arranged->parts.begin(), arranged->parts.end());
    parts.push_back({.tokens = prompt->pieces[2].tokens});

    // Theirs, of the same text written out.
    test::MtmdOracle seeing_oracle(path, 1, false, text->handle());
    ASSERT_TRUE(seeing_oracle.ok());
    const auto decoded =
        decode_image({reinterpret_cast<const std::uint8_t*>(encoded.data()), encoded.size()});
    ASSERT_TRUE(decoded.ok());
    const auto chunks = seeing_oracle.see_prompt(prompt_of(test_case, (*vision)->info().words.system),
                                                 std::span(&*decoded, 1), tower.output_width);
    ASSERT_FALSE(chunks.empty());
    std::vector<std::int32_t> their_tokens;
    std::vector<float> their_rows;
    std::vector<PromptPart> their_parts;
    for (const test::MtmdOracle::Chunk& chunk : chunks) {
        their_tokens.insert(their_tokens.end(), chunk.text.begin(), chunk.text.end());
        their_rows.insert(their_rows.end(), chunk.rows.begin(), chunk.rows.end());
        their_parts.push_back({.tokens = chunk.text, .embeddings = chunk.rows});
    }
    std::vector<std::int32_t> our_tokens;
    std::vector<float> our_rows;
    for (const PromptPart& part : parts) {
        our_tokens.insert(our_tokens.end(), part.tokens.begin(), part.tokens.end());
        our_rows.insert(our_rows.end(), part.embeddings.begin(), part.embeddings.end());
    }
    EXPECT_EQ(our_tokens, their_tokens);
    EXPECT_EQ(our_rows, their_rows);
    EXPECT_EQ(our_rows.size(), 5 * 16 * tower.output_width);

    test::LlamaOracle oracle(*text, kCells);
    std::vector<float> expected = oracle.prefill(their_parts);
    ASSERT_FALSE(expected.empty());
    test::Session decoder(text);
    const auto read = decoder.prefill({.parts = parts, .room = kRoom});
    ASSERT_TRUE(read.ok()) << read.status().message();
    std::vector<float> logits = read->logits;
    EXPECT_LT(test::relative_distance(logits, expected), test_case.tolerance);
    if (test_case.type != GGML_TYPE_F32) return;  // roundings may change a close choice
    for (int i = 0; i < 32; ++i) {
        const std::int32_t token = test::argmax(expected);
        ASSERT_EQ(test::argmax(logits), token) << "token " << i;
        expected = oracle.decode(token);
        const auto next = decoder.decode(token);
        ASSERT_TRUE(next.ok()) << next.status().message();
        logits.assign(next->begin(), next->end());
        // One query works in half precision.
        EXPECT_LT(test::relative_distance(logits, expected), 2e-2) << "token " << i;
    }
    std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(Files, InternvlOracle,
                         testing::Values(OracleCase{"qwen2", "qwen2", GGML_TYPE_F32, 1e-5},
                                         OracleCase{"internlm2", "internlm2", GGML_TYPE_F32, 1e-5},
                                         OracleCase{"phi3", "phi3", GGML_TYPE_F32, 1e-5},
                                         OracleCase{"llama", "llama", GGML_TYPE_F32, 1e-5},
                                         OracleCase{"qwen2_Q8_0", "qwen2", GGML_TYPE_Q8_0, 1e-3},
                                         OracleCase{"qwen2_Q4_K", "qwen2", GGML_TYPE_Q4_K, 1e-3},
                                         OracleCase{"internlm2_Q8_0", "internlm2", GGML_TYPE_Q8_0, 1e-3},
                                         OracleCase{"internlm2_Q4_K", "internlm2", GGML_TYPE_Q4_K, 1e-3}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace clasp::engine
