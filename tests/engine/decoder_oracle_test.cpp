// Unpruned, our graphs compute what libllama computes over the same weights.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "engine/executor.h"
#include "support/decoder_case.h"
#include "support/llama_oracle.h"
#include "support/reference_decoder.h"

namespace clasp::engine {
namespace {

using test::DecoderCase;
using test::LlamaOracle;
using test::RandomLlama;

struct Case {
    std::string name;
    RandomLlama spec;
    double tolerance;  // of relative_distance()
};

void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

class DecoderOracle : public testing::TestWithParam<Case> {};

TEST_P(DecoderOracle, LastLogitsAndDecodeAgree) {
    const auto model =
        test::load_random_llama("oracle_" + GetParam().name, GetParam().spec, {.repack = false});
    const DecoderCase prompt(*model, {5, 3, 9}, {70, 30});
    LlamaOracle oracle(*model, 512);
    const std::vector<float> expected = oracle.prefill(prompt.parts());
    ASSERT_FALSE(expected.empty());

    auto executor = Executor::create(model);
    auto sequence = Sequence::create(model);
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    const auto result = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 2});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_LT(test::relative_distance(result->logits, expected), GetParam().tolerance);

    const std::int32_t token = test::argmax(expected);
    const std::vector<float> expected_next = oracle.decode(token);
    const auto next = (*executor)->step(*sequence, token);
    ASSERT_TRUE(next.ok()) << next.status().message();
    EXPECT_LT(test::relative_distance({next->begin(), next->end()}, expected_next), GetParam().tolerance);
}

RandomLlama wide(ggml_type type) {
    return {.n_layers = 3, .width = 256, .n_heads = 4, .n_kv_heads = 2, .ffn_width = 512, .type = type};
}

RandomLlama with(bool RandomLlama::*flag, bool value) {
    RandomLlama spec;
    spec.*flag = value;
    return spec;
}

INSTANTIATE_TEST_SUITE_P(
    Weights, DecoderOracle,
    testing::Values(Case{"f32", wide(GGML_TYPE_F32), 1e-5}, Case{"f16", wide(GGML_TYPE_F16), 1e-5},
                    Case{"q8_0", wide(GGML_TYPE_Q8_0), 1e-5}, Case{"q4_0", wide(GGML_TYPE_Q4_0), 1e-5},
                    Case{"q4_k", wide(GGML_TYPE_Q4_K), 1e-5},
                    Case{"tied", with(&RandomLlama::has_own_head, false), 1e-5},
                    Case{"fused_qkv", with(&RandomLlama::has_fused_qkv, true), 1e-5},
                    Case{"biases", with(&RandomLlama::has_biases, true), 1e-5},
                    Case{"rope_factors", with(&RandomLlama::has_rope_factors, true), 1e-5},
                    Case{"yarn", with(&RandomLlama::has_yarn, true), 1e-5}),
    [](const auto& test) { return test.param.name; });

TEST(DecoderOracleRun, GreedyContinuationsOf32TokensAreIdentical) {
    RandomLlama spec = wide(GGML_TYPE_F32);
    spec.vocabulary_file = test::real_vocabulary_file();
    const auto model = test::load_random_llama("oracle_greedy", spec);
    const DecoderCase prompt(*model, {6, 20}, {100});
    LlamaOracle oracle(*model, 512);
    std::vector<float> expected = oracle.prefill(prompt.parts());

    auto executor = Executor::create(model);
    auto sequence = Sequence::create(model);
    ASSERT_TRUE(executor.ok());
    const auto result = (*executor)->prefill(*sequence, {.parts = prompt.parts(), .room = 32});
    ASSERT_TRUE(result.ok()) << result.status().message();
    std::vector<float> logits = result->logits;
    for (int i = 0; i < 32; ++i) {
        const std::int32_t token = test::argmax(expected);
        ASSERT_EQ(test::argmax(logits), token) << "token " << i;
        expected = oracle.decode(token);
        const auto next = (*executor)->step(*sequence, token);
        ASSERT_TRUE(next.ok()) << next.status().message();
        logits.assign(next->begin(), next->end());
    }
}

std::vector<float> last_logits(const std::shared_ptr<const model::TextModel>& model,
                               const DecoderCase& prompt) {
    auto executor = Executor::create(model);
    auto sequence = Sequence::create(model);
    return (*executor)->prefill(*sequence, {.parts = prompt.parts()})->logits;
}

// Other kernels, the same products: rounding differs, and 8-bit activations amplify that.
TEST(DecoderOracleRun, RepackedWeightsGiveTheSame) {
    for (const ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K}) {
        const auto repacked =
            test::load_random_llama("oracle_repacked", wide(type), {.kernels = model::DecoderKernels::Ggml});
        const auto plain = test::load_random_llama("oracle_plain", wide(type), {.repack = false});
        const DecoderCase prompt(*plain, {5, 9}, {100});
        EXPECT_LT(test::relative_distance(last_logits(repacked, prompt), last_logits(plain, prompt)), 0.05)
            << ggml_type_name(type);
    }
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i] - b[i]), 2);
    return sum;
}

// Both sorts of kernels round what they multiply to 8 bits; ours stay as near to the model in double
// precision as ggml's, over several models, because one by one it is chance.
TEST(DecoderOracleRun, OurProductsAreAsExactAsThoseOfGgml) {
    for (const ggml_type type :
         {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_Q8_0}) {
        double ours = 0.0;
        double theirs = 0.0;
        for (const unsigned seed : {1U, 2U, 3U}) {
            RandomLlama spec = wide(type);
            spec.seed = seed;
            const auto plain = test::load_random_llama("oracle_plain", spec, {.repack = false});
            const auto packed = test::load_random_llama("oracle_packed", spec);
            const DecoderCase prompt(*plain, {3, 4}, {10});
            const std::vector<float> wanted =
                test::ReferenceDecoder(*plain).run({.parts = prompt.parts()}).logits;
            ours += squared_distance(last_logits(packed, prompt), wanted);
            theirs += squared_distance(last_logits(plain, prompt), wanted);
        }
        EXPECT_LT(ours, 1.4 * theirs) << ggml_type_name(type);
        EXPECT_GT(ours, 0.0) << ggml_type_name(type);
    }
}

TEST(DecoderOracleRun, PiecesGiveTheSameAsOneBatch) {
    const auto model = test::load_random_llama("oracle_pieces", {});
    const DecoderCase prompt(*model, {5, 9}, {120});
    LlamaOracle oracle(*model, 512);
    const std::vector<float> expected = oracle.prefill(prompt.parts());
    for (const std::int32_t batch : {1, 7, 64, 133, 134}) {
        auto executor = Executor::create(model, {.batch_rows = batch});
        auto sequence = Sequence::create(model);
        ASSERT_TRUE(executor.ok());
        const auto result = (*executor)->prefill(*sequence, {.parts = prompt.parts()});
        ASSERT_TRUE(result.ok()) << result.status().message();
        // Below 64 rows ggml's attention works in half precision.
        EXPECT_LT(test::relative_distance(result->logits, expected), batch < 64 ? 1e-2 : 5e-3)
            << "batches of " << batch;
    }
}

}  // namespace
}  // namespace clasp::engine
