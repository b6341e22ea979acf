// Every row of the table of decoder architectures, against libllama over the same weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "model/quant_matrix.h"
#include "model/text_family.h"
#include "support/decoder_case.h"
#include "support/llama_oracle.h"
#include "support/session.h"

namespace clasp::engine {
namespace {

using test::DecoderCase;
using test::LlamaOracle;
using test::RandomLlama;

// Rotation may depend on the length of the whole sequence; libllama counts its cells, we the room.
constexpr std::int32_t kCells = 512;
constexpr std::int32_t kRoom = 380;

std::vector<std::string> architectures() {
    std::vector<std::string> names;
    for (const model::TextFamily& family : model::text_families()) names.emplace_back(family.architecture);
    return names;
}

std::vector<float> logits_of(test::Session& session, std::span<const PromptPart> parts,
                             std::int32_t room = kRoom) {
    const auto result = session.prefill({.parts = parts, .room = room});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? result->logits : std::vector<float>();
}

class Architecture : public testing::TestWithParam<std::string> {
   protected:
    [[nodiscard]] static RandomLlama spec() { return test::random_architecture(GetParam()); }
    [[nodiscard]] static std::shared_ptr<const model::TextModel> load(const RandomLlama& wanted) {
        return test::load_random_llama("architecture_" + GetParam(), wanted, {.repack = false});
    }
};

// A prompt of more tokens than any window has. Its beginnings give the logits of each of its places.
TEST_P(Architecture, AgreesWithLibllamaAtEveryPlaceOfAText) {
    const auto model = load(spec());
    const DecoderCase prompt(*model, {110}, {});
    LlamaOracle oracle(*model, kCells);
    ASSERT_FALSE(oracle.prefill(prompt.parts(), true).empty());
    const auto vocabulary = static_cast<std::size_t>(model->config().vocabulary);
    ASSERT_EQ(oracle.all_logits().size(), 110 * vocabulary);
    test::Session session(model);
    for (std::size_t n = 1; n <= 110; n += n < 64 ? 9 : 1) {
        const std::vector<PromptPart> beginning = {{.tokens = prompt.parts()[0].tokens.first(n)}};
        const auto expected = std::span(oracle.all_logits()).subspan((n - 1) * vocabulary, vocabulary);
        // Below 64 rows ggml's attention works in half precision.
        EXPECT_LT(test::relative_distance(logits_of(session, beginning), {expected.begin(), expected.end()}),
                  n < 64 ? 2e-2 : 1e-5)
            << "after " << n << " tokens";
    }
}

TEST_P(Architecture, AgreesWithLibllamaAboutPicturesAndInGeneration) {
    const auto model = load(spec());
    const DecoderCase prompt(*model, {70, 65, 66}, {80, 70});
    LlamaOracle oracle(*model, kCells);
    std::vector<float> expected = oracle.prefill(prompt.parts(), true);
    ASSERT_FALSE(expected.empty());
    const auto vocabulary = static_cast<std::size_t>(model->config().vocabulary);
    test::Session session(model);
    // Places of the text after the last picture.
    for (std::size_t n = 1; n < 66; n += 16) {
        std::vector<PromptPart> beginning = prompt.parts();
        beginning.back().tokens = beginning.back().tokens.first(n);
        const auto at = std::span(oracle.all_logits()).subspan((285 + n - 1) * vocabulary, vocabulary);
        EXPECT_LT(test::relative_distance(logits_of(session, beginning, 100), {at.begin(), at.end()}), 1e-5)
            << "after " << n << " tokens of text";
    }
    std::vector<float> logits = logits_of(session, prompt.parts(), 100);
    EXPECT_LT(test::relative_distance(logits, expected), 1e-5);
    for (int i = 0; i < 32; ++i) {
        const std::int32_t token = test::argmax(expected);
        ASSERT_EQ(test::argmax(logits), token) << "token " << i;
        expected = oracle.decode(token);
        ASSERT_FALSE(expected.empty());
        const auto next = session.decode(token);
        ASSERT_TRUE(next.ok()) << next.status().message();
        logits.assign(next->begin(), next->end());
        // One query works in half precision.
        EXPECT_LT(test::relative_distance(logits, expected), 2e-2) << "token " << i;
    }
}

TEST_P(Architecture, PiecesGiveTheSameAsOneBatch) {
    const auto model = load(spec());
    const DecoderCase prompt(*model, {20, 30}, {50});
    const auto logits = [&](std::int32_t batch) {
        test::Session session(model, {.kv_type = GGML_TYPE_F32, .batch_rows = batch});
        return logits_of(session, prompt.parts());
    };
    const std::vector<float> whole = logits(2048);
    for (const std::int32_t batch : {1, 7, 33, 99}) {
        EXPECT_LT(test::relative_distance(logits(batch), whole), 1e-4) << "batches of " << batch;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Architecture, testing::ValuesIn(architectures()),
                         [](const auto& test) { return test.param; });

class ArchitectureWeights : public testing::TestWithParam<std::tuple<std::string, ggml_type>> {};

TEST_P(ArchitectureWeights, AgreeWithLibllama) {
    const auto& [name, type] = GetParam();
    const auto model =
        test::load_random_llama("weights_" + name + "_" + ggml_type_name(type),
                                test::widened(test::random_architecture(name), type), {.repack = false});
    const DecoderCase prompt(*model, {70, 66}, {80});
    LlamaOracle oracle(*model, kCells);
    const std::vector<float> expected = oracle.prefill(prompt.parts());
    ASSERT_FALSE(expected.empty());
    test::Session session(model);
    // Equal to the bit but where a product of other shape turns the last bit of a key in half precision.
    EXPECT_LT(test::relative_distance(logits_of(session, prompt.parts()), expected), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    All, ArchitectureWeights,
    testing::Combine(testing::ValuesIn(architectures()),
                     testing::Values(GGML_TYPE_F16, GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_K)),
    [](const auto& test) { return std::get<0>(test.param) + "_" + ggml_type_name(std::get<1>(test.param)); });

// What users run: weights that are packed for our products, or repacked where the processor has no kernels of
// ours. Inputs are rounded to bytes by the same rule as ggml's, sums are not in its order, and random models
// amplify what differs.
class ArchitectureDefaults : public testing::TestWithParam<std::tuple<std::string, ggml_type>> {
   protected:
    [[nodiscard]] static RandomLlama spec() {
        return test::widened(test::random_architecture(std::get<0>(GetParam())), std::get<1>(GetParam()));
    }
    [[nodiscard]] static std::shared_ptr<const model::TextModel> load(
        const std::string& name, const model::TextModelOptions& options = {}) {
        return test::load_random_llama(
            name + std::get<0>(GetParam()) + "_" + ggml_type_name(std::get<1>(GetParam())), spec(), options);
    }
};

// How far logits may be from libllama's, in standard deviations of them all, and how far the best one has to
// be above the next one to be the same. Logits that are capped crowd below the cap.
double tolerance(const RandomLlama& spec) {
    return spec.final_cap > 0.0F ? 0.03 : 0.12;
}

// How far the best logit is above the next one, likewise.
double lead(const std::vector<float>& logits) {
    std::vector<float> without = logits;
    float& best = without[static_cast<std::size_t>(test::argmax(logits))];
    best = -std::numeric_limits<float>::infinity();
    best = *std::max_element(without.begin(), without.end());
    return test::relative_distance(without, logits);
}

TEST_P(ArchitectureDefaults, AgreeWithLibllamaAboutAPictureAndInGeneration) {
    const double far = tolerance(spec());
    const auto model = load("defaults_");
    EXPECT_NE(model->weights().packed.empty(), model::QuantMatrix::is_fast());
    const auto plain = load("plain_", {.repack = false});
    const DecoderCase prompt(*plain, {70, 66}, {80});
    LlamaOracle oracle(*plain, kCells);
    std::vector<float> expected = oracle.prefill(prompt.parts());
    ASSERT_FALSE(expected.empty());
    test::Session session(model);
    std::vector<float> logits = logits_of(session, prompt.parts());
    EXPECT_LT(test::relative_distance(logits, expected), far);
    int n_clear = 0;
    for (int i = 0; i < 32; ++i) {
        const std::int32_t token = test::argmax(expected);
        if (lead(expected) > far) {
            ++n_clear;
            EXPECT_EQ(test::argmax(logits), token) << "token " << i;
        }
        expected = oracle.decode(token);
        ASSERT_FALSE(expected.empty());
        const auto next = session.decode(token);
        ASSERT_TRUE(next.ok()) << next.status().message();
        logits.assign(next->begin(), next->end());
        EXPECT_LT(test::relative_distance(logits, expected), far) << "token " << i;
    }
    EXPECT_GE(n_clear, 8) << "another seed: these models are sure of nothing";
}

INSTANTIATE_TEST_SUITE_P(All, ArchitectureDefaults,
                         testing::Combine(testing::ValuesIn(architectures()),
                                          testing::Values(GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q8_0)),
                         [](const auto& test) {
                             return std::get<0>(test.param) + "_" + ggml_type_name(std::get<1>(test.param));
                         });

// Positions with gaps are allowed by libllama where they have planes, so a picture that lost tokens before
// the decoder can be compared directly.
TEST(ArchitecturesWithPlanes, AgreeWithLibllamaAboutAPictureThatLostTokens) {
    for (const std::string& name : architectures()) {
        if (!model::find_text_family(name)->has_planes()) continue;
        const auto model =
            test::load_random_llama("lost_" + name, test::random_architecture(name), {.repack = false});
        const DecoderCase whole(*model, {70, 66}, {80});
        const DecoderCase pruned = whole.with_visual({0, 7, 8, 9, 31, 40, 62, 79}, 64);
        LlamaOracle oracle(*model, kCells);
        const std::vector<float> expected = oracle.prefill(pruned.parts());
        test::Session session(model);
        const std::vector<float> logits = logits_of(session, pruned.parts());
        EXPECT_LT(test::relative_distance(logits, expected), 1e-5) << name;
        EXPECT_GT(test::relative_distance(logits, oracle.prefill(whole.parts())), 1e-2) << name;
        EXPECT_EQ(session.sequence().next_position(), 70 + 9 + 66) << name;
    }
}

TEST(ArchitecturesWithLongFactors, ChooseThemByTheLengthOfTheWholeSequence) {
    const RandomLlama spec = test::random_architecture("phi3");
    const auto model = test::load_random_llama("long_factors", spec, {.repack = false});
    const DecoderCase prompt(*model, {70, 66}, {80});
    test::Session session(model);
    const auto expected = [&](std::uint32_t n_cells) {
        return LlamaOracle(*model, n_cells).prefill(prompt.parts());
    };
    const std::int32_t most = spec.long_rope_from - 216;
    EXPECT_LT(test::relative_distance(logits_of(session, prompt.parts(), most), expected(256)), 1e-5);
    EXPECT_LT(test::relative_distance(logits_of(session, prompt.parts(), most + 1), expected(512)), 1e-5);
    EXPECT_GT(test::relative_distance(expected(512), expected(256)), 1e-2);
}

}  // namespace
}  // namespace clasp::engine
