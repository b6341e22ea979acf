// A token of several sequences in one graph is what each would get alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "support/paths.h"
#include "support/sequence_case.h"

namespace clasp::engine {
namespace {

using test::Pruning;
using test::RandomLlama;
using test::SequenceCase;
using test::SequenceSpec;
using testing::HasSubstr;
using Logits = std::vector<float>;

constexpr std::int32_t kSteps = 3;

// Eight conversations: other lengths, layer groups, masses and positions in each.
const std::vector<SequenceSpec> kSpecs = {
    {.n_image = 90, .pruning = Pruning::WithMasses, .room = 16, .seed = 1},
    {.n_image = 40, .pruning = Pruning::None, .room = 9, .seed = 2},
    {.n_image = 70, .pruning = Pruning::Compact, .room = 12, .seed = 3},
    {.n_image = 61, .pruning = Pruning::WithMasses, .mode = StageMode::After, .room = 20, .seed = 4},
    {.n_image = 1, .pruning = Pruning::None, .room = 10, .seed = 5},
    {.n_image = 83, .pruning = Pruning::Plain, .room = 10, .seed = 6},
    {.n_image = 33, .pruning = Pruning::Plain, .mode = StageMode::After, .room = 11, .seed = 7},
    {.n_image = 55, .pruning = Pruning::WithMasses, .room = 30, .seed = 8}};

Sequence prompt(Executor& executor, const std::shared_ptr<const model::TextModel>& model,
                const SequenceSpec& spec, ggml_type kv_type = GGML_TYPE_F16) {
    const SequenceCase of(*model, spec);
    auto sequence = Sequence::create(model, {.kv_type = kv_type});
    const auto result = executor.prefill(*sequence, of.request());
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(sequence).value();
}

Logits alone(Executor& executor, Sequence& sequence, std::int32_t token) {
    const auto logits = executor.step(sequence, token);
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    return {logits->begin(), logits->end()};
}

std::vector<Logits> together(Executor& executor, const std::vector<NextToken>& batch) {
    const auto logits = executor.step(batch);
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    std::vector<Logits> rows;
    for (std::size_t i = 0; logits.ok() && i < logits->size(); ++i) {
        rows.emplace_back((*logits)[i].begin(), (*logits)[i].end());
    }
    EXPECT_EQ(rows.size(), batch.size());
    return rows;
}

struct StepCase {
    std::string name;
    RandomLlama spec;
    ggml_type kv_type;
    double tolerance;  // of relative_distance()
};

void PrintTo(const StepCase& c, std::ostream* out) {
    *out << c.name;
}

class BatchStep : public testing::TestWithParam<StepCase> {};

// One row is the same graph, so the same bits. For more ggml takes other kernels for F32 and F16 weights;
// quantised ones gave the same bits on x86, but nobody promises that.
TEST_P(BatchStep, GivesEachSequenceWhatItGetsAlone) {
    const StepCase& c = GetParam();
    const auto model = test::load_random_llama("batch_" + c.name, c.spec);
    auto made = Executor::create(model);
    ASSERT_TRUE(made.ok());
    Executor& executor = **made;
    std::vector<Sequence> prompts;
    for (const SequenceSpec& spec : kSpecs) prompts.push_back(prompt(executor, model, spec, c.kv_type));
    for (std::size_t n = 1; n <= kSpecs.size(); ++n) {
        std::vector<Sequence> batched;
        std::vector<Sequence> single;
        std::vector<std::int32_t> tokens;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::vector<Sequence>* side : {&batched, &single}) {
                auto fork = prompts[i].fork();
                ASSERT_TRUE(fork.ok());
                side->push_back(std::move(fork).value());
            }
            tokens.push_back(10 + static_cast<std::int32_t>(i));
        }
        for (std::int32_t step = 0; step < kSteps; ++step) {
            std::vector<NextToken> batch;
            for (std::size_t i = 0; i < n; ++i) batch.push_back({&batched[i], tokens[i]});
            const std::vector<Logits> rows = together(executor, batch);
            for (std::size_t i = 0; i < n; ++i) {
                const Logits expected = alone(executor, single[i], tokens[i]);
                if (n == 1) {
                    EXPECT_EQ(rows[i], expected);
                }
                EXPECT_LT(test::relative_distance(rows[i], expected), c.tolerance)
                    << "sequence " << i << " of " << n << ", step " << step;
                tokens[i] = test::argmax(expected);
                EXPECT_EQ(test::argmax(rows[i]), tokens[i]);
                EXPECT_EQ(batched[i].next_position(), single[i].next_position());
                EXPECT_EQ(batched[i].room(), single[i].room());
            }
        }
    }
}

RandomLlama wide_llama(ggml_type type) {
    return {.n_layers = 6, .width = 256, .n_heads = 4, .n_kv_heads = 2, .ffn_width = 512, .type = type};
}

RandomLlama narrow(std::int32_t n_kv_heads, bool has_fused_qkv) {
    return {.n_layers = 6,
            .width = 96,
            .n_heads = 6,
            .n_kv_heads = n_kv_heads,
            .ffn_width = 128,
            .has_fused_qkv = has_fused_qkv,
            .has_biases = true};
}

INSTANTIATE_TEST_SUITE_P(Models, BatchStep,
                         testing::Values(StepCase{"f32", wide_llama(GGML_TYPE_F32), GGML_TYPE_F32, 1e-4},
                                         StepCase{"f32_half", wide_llama(GGML_TYPE_F32), GGML_TYPE_F16, 5e-3},
                                         StepCase{"f16", wide_llama(GGML_TYPE_F16), GGML_TYPE_F16, 5e-3},
                                         StepCase{"q8_0", wide_llama(GGML_TYPE_Q8_0), GGML_TYPE_F16, 2e-2},
                                         StepCase{"q4_0", wide_llama(GGML_TYPE_Q4_0), GGML_TYPE_F16, 2e-2},
                                         StepCase{"one_key_head", narrow(1, false), GGML_TYPE_F32, 1e-4},
                                         StepCase{"three_key_heads", narrow(3, true), GGML_TYPE_F32, 1e-4}),
                         [](const auto& test) { return test.param.name; });

std::shared_ptr<const model::TextModel> six_layer_model() {
    static const auto model = test::load_random_llama("batch", wide_llama(GGML_TYPE_F32));
    return model;
}

TEST(BatchStepOrder, CompanionsMakeNoDifference) {
    auto made = Executor::create(six_layer_model());
    Executor& executor = **made;
    Sequence a = prompt(executor, six_layer_model(), kSpecs[0]);
    Sequence b = prompt(executor, six_layer_model(), kSpecs[1]);
    Sequence c = prompt(executor, six_layer_model(), kSpecs[2]);
    const auto with_b = together(executor, {{&a, 5}, {&b, 6}});
    ASSERT_TRUE(a.cut_back(a.n_prompt()).ok());
    const auto with_c = together(executor, {{&c, 7}, {&a, 5}});
    EXPECT_EQ(with_b[0], with_c[1]);
}

// Sequences join and leave between steps; one is forked from another on the way.
TEST(BatchStepOrder, SequencesJoinAndLeave) {
    auto made = Executor::create(six_layer_model());
    Executor& executor = **made;
    std::vector<Sequence> batched;
    std::vector<Sequence> single;
    std::vector<std::int32_t> tokens;
    const auto join = [&](Sequence first, Sequence second, std::int32_t token) {
        batched.push_back(std::move(first));
        single.push_back(std::move(second));
        tokens.push_back(token);
    };
    const auto start = [&](std::size_t i) {
        join(prompt(executor, six_layer_model(), kSpecs[i], GGML_TYPE_F32),
             prompt(executor, six_layer_model(), kSpecs[i], GGML_TYPE_F32),
             20 + static_cast<std::int32_t>(i));
    };
    const auto run = [&](const std::vector<std::size_t>& who) {
        std::vector<NextToken> batch;
        for (const std::size_t i : who) batch.push_back({&batched[i], tokens[i]});
        const std::vector<Logits> rows = together(executor, batch);
        for (std::size_t k = 0; k < who.size(); ++k) {
            const std::size_t i = who[k];
            const Logits expected = alone(executor, single[i], tokens[i]);
            EXPECT_LT(test::relative_distance(rows[k], expected), 1e-4) << "sequence " << i;
            EXPECT_EQ(test::argmax(rows[k]), test::argmax(expected));
            tokens[i] = test::argmax(expected);
        }
    };
    for (std::size_t i = 0; i < 3; ++i) start(i);
    batched.reserve(8);  // sequences in use stay where they are
    run({0});
    run({0, 1, 2});
    join(std::move(batched[0].fork()).value(), std::move(single[0].fork()).value(), 77);
    run({0, 3, 2});
    run({3, 1});
    start(5);
    run({4, 3, 0, 2, 1});
    batched[1].clear();
    single[1].clear();
    run({4, 3, 0, 2});
    ASSERT_TRUE(batched[3].cut_back(batched[3].n_prompt()).ok());
    ASSERT_TRUE(single[3].cut_back(single[3].n_prompt()).ok());
    run({3, 4});
    run({3});
}

TEST(BatchStepOrder, TheSameForkTwiceGivesTheSameRows) {
    auto made = Executor::create(six_layer_model());
    Executor& executor = **made;
    Sequence a = prompt(executor, six_layer_model(), kSpecs[0]);
    auto b = a.fork();
    auto c = a.fork(3);
    for (std::int32_t step = 0; step < 3; ++step) {
        const auto rows = together(executor, {{&a, 30 + step}, {&*b, 30 + step}, {&*c, 30 + step}});
        EXPECT_EQ(rows[0], rows[1]);
        EXPECT_EQ(rows[0], rows[2]);
    }
}

// Long texts of phi3 have rotations of their own, so that a step of short and long ones takes several graphs.
TEST(BatchStepOrder, SequencesWithOtherRotationsShareAStep) {
    RandomLlama spec = test::random_architecture("phi3");
    spec.n_layers = 6;
    const auto model = test::load_random_llama("batch_long_rope", spec);
    auto made = Executor::create(model);
    Executor& executor = **made;
    const auto of_length = [&](std::int32_t n_tokens, std::uint64_t seed) {
        // 13 tokens of text, the picture, and room for 8 more.
        return SequenceSpec{.n_image = static_cast<std::size_t>(n_tokens - 13 - 8),
                            .pruning = seed % 2 == 0 ? Pruning::WithMasses : Pruning::None,
                            .seed = seed};
    };
    const std::int32_t limit = spec.long_rope_from;
    ASSERT_GT(limit, 40);
    const std::vector<SequenceSpec> specs = {of_length(limit + 1, 1), of_length(limit, 2),
                                             of_length(limit + 50, 3), of_length(limit - 10, 4),
                                             of_length(limit + 7, 5)};
    std::vector<Sequence> batched;
    std::vector<Sequence> single;
    for (const SequenceSpec& one : specs) {
        batched.push_back(prompt(executor, model, one, GGML_TYPE_F32));
        single.push_back(prompt(executor, model, one, GGML_TYPE_F32));
    }
    EXPECT_NE(batched[0].rope_factors(), batched[1].rope_factors());
    for (std::int32_t step = 0; step < kSteps; ++step) {
        std::vector<NextToken> batch;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            batch.push_back({&batched[i], 30 + step + static_cast<std::int32_t>(i)});
        }
        const std::vector<Logits> rows = together(executor, batch);
        ASSERT_EQ(rows.size(), specs.size());
        for (std::size_t i = 0; i < specs.size(); ++i) {
            const Logits expected = alone(executor, single[i], batch[i].token);
            EXPECT_LT(test::relative_distance(rows[i], expected), 1e-4) << "sequence " << i;
            EXPECT_EQ(batched[i].tokens().size(), single[i].tokens().size());
        }
    }
}

TEST(BatchStepThreads, ChangeNoNumber) {
    for (const std::int32_t n_kv_heads : {1, 2}) {
        const std::string path =
            std::string(test::scratch_dir()) + "/batch-threads-" + std::to_string(n_kv_heads) + ".gguf";
        RandomLlama spec = narrow(n_kv_heads, false);
        spec.n_layers = 1;
        ASSERT_TRUE(test::write_random_llama(path, spec));
        std::vector<Logits> expected;
        for (const std::size_t n_threads : {1U, 2U, 3U}) {
            const auto compute = model::Compute::create({.n_threads = n_threads, .use_gpu = false});
            ASSERT_TRUE(compute.ok()) << compute.status().message();
            const auto model = model::TextModel::load(path, *compute);
            ASSERT_TRUE(model.ok()) << model.status().message();
            const auto executor = Executor::create(*model);
            // More than 512 keys: there ggml would divide them among threads.
            Sequence a = prompt(**executor, *model, {.n_image = 520, .seed = 1});
            Sequence b = prompt(**executor, *model, {.n_image = 530, .seed = 2});
            const std::vector<Logits> found = together(**executor, {{&a, 5}, {&b, 9}});
            if (expected.empty()) expected = found;
            EXPECT_EQ(found, expected) << n_threads << " threads, " << n_kv_heads << " key heads";
        }
        std::filesystem::remove(path);
    }
}

TEST(BatchStepErrors, LeaveEverySequenceAsItWas) {
    auto made = Executor::create(six_layer_model());
    Executor& executor = **made;
    Sequence a = prompt(executor, six_layer_model(), kSpecs[0]);
    Sequence b = prompt(executor, six_layer_model(), {.n_image = 10, .room = 0});
    auto empty = Sequence::create(six_layer_model());
    const auto status = [&](const std::vector<NextToken>& batch, const std::atomic<bool>* cancel = nullptr) {
        return executor.step(batch, cancel).status();
    };
    EXPECT_EQ(status({}).code(), Code::InvalidArgument);
    EXPECT_EQ(status({{&a, 5}, {&a, 6}}).code(), Code::InvalidArgument);
    EXPECT_EQ(status({{&a, 5}, {&*empty, 6}}).code(), Code::InvalidArgument);
    EXPECT_EQ(status({{&a, -1}}).code(), Code::InvalidArgument);
    const Status full = status({{&a, 5}, {&b, 6}});
    EXPECT_EQ(full.code(), Code::TooLarge);
    EXPECT_THAT(full.message(), HasSubstr("in sequence 1 of the step"));
    ASSERT_TRUE(b.reserve(2).ok());
    const std::atomic<bool> cancel = true;
    EXPECT_EQ(status({{&a, 5}, {&b, 6}}, &cancel).code(), Code::Cancelled);
    EXPECT_EQ(a.tokens().size(), a.n_prompt());
    EXPECT_EQ(b.tokens().size(), b.n_prompt());

    Sequence straight = prompt(executor, six_layer_model(), kSpecs[0]);
    EXPECT_EQ(alone(executor, a, 5), alone(executor, straight, 5));
}

// Between a prompt and single steps a workspace must not grow with every token.
TEST(BatchStepMemory, WorkspaceStaysAsItIsWhileTheSameSequencesGoOn) {
    auto made = Executor::create(six_layer_model());
    Executor& executor = **made;
    Sequence a = prompt(executor, six_layer_model(), kSpecs[1]);
    Sequence b = prompt(executor, six_layer_model(), kSpecs[5]);
    together(executor, {{&a, 5}, {&b, 6}});
    const std::size_t bytes = executor.workspace_bytes();
    for (std::int32_t step = 0; step < 5; ++step) together(executor, {{&a, 5}, {&b, 6}});
    EXPECT_EQ(executor.workspace_bytes(), bytes);
}

}  // namespace
}  // namespace clasp::engine
