// Whole prompts and answers over quantised weights, with our products and with ggml's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "engine/executor.h"
#include "model/decoder_products.h"
#include "model/quant_matrix.h"
#include "support/decoder_case.h"
#include "support/paths.h"
#include "support/random_llama.h"

namespace clasp::engine {
namespace {

using model::DecoderKernels;
using test::DecoderCase;

class DecoderKernelsTest : public testing::TestWithParam<ggml_type> {
   protected:
    void SetUp() override {
        path_ = std::string(test::scratch_dir()) + "/kernels-" + std::to_string(::getpid()) + ".gguf";
        test::RandomLlama spec;
        spec.n_layers = 2;
        spec.width = 256;
        spec.ffn_width = 512;
        spec.type = GetParam();
        spec.has_biases = true;
        spec.has_own_head = false;
        ASSERT_TRUE(test::write_random_llama(path_, spec));
    }
    void TearDown() override { std::filesystem::remove(path_); }

    [[nodiscard]] std::shared_ptr<const model::TextModel> load(
        std::size_t n_threads, DecoderKernels kernels = DecoderKernels::Ours) const {
        const auto compute = model::Compute::create({.n_threads = n_threads, .use_gpu = false});
        auto loaded = model::TextModel::load(path_, *compute, {.kernels = kernels});
        EXPECT_TRUE(loaded.ok()) << loaded.status().message();
        return *loaded;
    }

    std::string path_;
};

std::vector<float> copied(std::span<const float> values) {
    return {values.begin(), values.end()};
}

// The logits of a prompt and of two tokens after it.
std::vector<std::vector<float>> answer(const std::shared_ptr<const model::TextModel>& model,
                                       std::vector<PrefillStage> stages = {}) {
    const DecoderCase prompt(*model, {4, 7}, {40});
    auto executor = Executor::create(model);
    auto sequence = Sequence::create(model);
    PrefillRequest request = {.parts = prompt.parts(), .room = 2};
    request.stages = std::move(stages);
    request.selector = [](const StageView& view) {
        StageChoice choice;
        choice.kept.assign(view.live.begin(), view.live.end());
        return Result<StageChoice>(choice);
    };
    const auto first = (*executor)->prefill(*sequence, request);
    EXPECT_TRUE(first.ok()) << first.status().message();
    std::vector<std::vector<float>> logits = {first->logits};
    for (const std::int32_t token : {5, 6}) logits.push_back(copied(*(*executor)->step(*sequence, token)));
    return logits;
}

TEST_P(DecoderKernelsTest, ThreadsChangeNoNumber) {
    const auto alone = answer(load(1));
    for (const std::size_t n_threads : {2U, 4U}) EXPECT_EQ(answer(load(n_threads)), alone) << n_threads;
}

TEST_P(DecoderKernelsTest, AStageThatKeepsEverythingChangesNoNumber) {
    const auto model = load(1);
    const PrefillStage stage = {.layer = 1, .needs = {.scores = true}, .reference = {45}};
    EXPECT_EQ(answer(model, {stage}), answer(model));
}

// Rows do not depend on each other, so what ggml may round differently in a batch is the same here.
TEST_P(DecoderKernelsTest, ABatchOfSequencesEqualsEachAloneBitForBit) {
    const auto model = load(1);
    const DecoderCase prompt(*model, {4, 7}, {40});
    auto executor = Executor::create(model);
    std::vector<Sequence> sequences;
    for (int i = 0; i < 3; ++i) {
        sequences.push_back(std::move(Sequence::create(model)).value());
        ASSERT_TRUE((*executor)->prefill(sequences.back(), {.parts = prompt.parts(), .room = 2}).ok());
    }
    std::vector<std::vector<float>> expected;
    for (int i = 0; i < 3; ++i) {
        expected.push_back(copied(*(*executor)->step(sequences[static_cast<std::size_t>(i)], 10 + i)));
        Sequence& sequence = sequences[static_cast<std::size_t>(i)];
        ASSERT_TRUE(sequence.cut_back(sequence.tokens().size() - 1).ok());
    }
    const std::vector<NextToken> batch = {{&sequences[0], 10}, {&sequences[1], 11}, {&sequences[2], 12}};
    const auto logits = (*executor)->step(batch);
    ASSERT_TRUE(logits.ok()) << logits.status().message();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(copied((*logits)[i]), expected[i]) << i;
}

// What multiplies the matrices of the blocks, and the head.
std::vector<ggml_op> operations(const model::TextModel& model) {
    const model::TextWeights& weights = model.weights();
    std::vector<ggml_tensor*> matrices = {weights.head};
    for (const model::BlockWeights& block : weights.blocks) {
        for (ggml_tensor* matrix :
             {block.q, block.k, block.v, block.attention_out, block.gate, block.up, block.down}) {
            matrices.push_back(matrix);
        }
    }
    ggml_context* context = ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true});
    model::DecoderProducts products(context, weights);
    std::vector<ggml_op> found;
    for (ggml_tensor* matrix : matrices) {
        ggml_tensor* x = ggml_new_tensor_2d(context, GGML_TYPE_F32, matrix->ne[0], 3);
        found.push_back(products.linear(matrix, nullptr, x)->op);
    }
    ggml_free(context);
    return found;
}

// Products of Q4_0 have the same bits on both paths, so it is the operations that tell.
TEST_P(DecoderKernelsTest, GgmlKeepsItsOwnPath) {
    if (!model::QuantMatrix::is_fast()) GTEST_SKIP() << "this processor has no kernels of ours";
    const auto ours = load(1);
    const auto theirs = load(1, DecoderKernels::Ggml);
    EXPECT_THAT(operations(*theirs), testing::Each(GGML_OP_MUL_MAT));
    EXPECT_FALSE(theirs->weights().has_own_attention);
    EXPECT_THAT(operations(*ours), testing::Each(GGML_OP_CUSTOM));
    // Every matrix of the two blocks, and the head that is the embedding.
    EXPECT_EQ(operations(*ours).size(), 15U);
    EXPECT_EQ(ours->weights().packed.size(), 15U);
}

INSTANTIATE_TEST_SUITE_P(Types, DecoderKernelsTest, testing::Values(GGML_TYPE_Q4_0, GGML_TYPE_Q6_K),
                         [](const auto& one) { return std::string(ggml_type_name(one.param)); });

TEST(DecoderKernelsOption, NamesThatAreNoneAreRefused) {
    const auto engine = Engine::load({.model = "none.gguf", .kernels = "theirs"});
    ASSERT_FALSE(engine.ok());
    EXPECT_THAT(std::string(engine.status().message()), testing::HasSubstr("there are ours and ggml"));
}

}  // namespace
}  // namespace clasp::engine
