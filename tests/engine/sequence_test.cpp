// A sequence that is copied, cut back, extended or filled in steps holds what it would hold had it gone the
// straight way.
#include "engine/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "support/sequence_case.h"

namespace clasp::engine {
namespace {

using test::Pruning;
using test::SequenceCase;
using testing::HasSubstr;
using Logits = std::vector<float>;

std::shared_ptr<const model::TextModel> small_layers() {
    static const auto model = test::load_random_llama("sequence", {.n_layers = 6});
    return model;
}

constexpr std::int32_t kRoom = 8;

// A prompt of text and an image that lost tokens at two stages.
SequenceCase pruned_case(std::uint64_t seed = 7) {
    return {*small_layers(), {.n_image = 90, .pruning = Pruning::WithMasses, .room = kRoom, .seed = seed}};
}

class SequenceOperations : public testing::Test {
   protected:
    void SetUp() override {
        auto made = Executor::create(small_layers());
        ASSERT_TRUE(made.ok());
        executor_ = std::move(made).value();
    }

    Sequence prompt(const SequenceCase& of) {
        auto sequence = Sequence::create(small_layers());
        const auto result = executor_->prefill(*sequence, of.request());
        EXPECT_TRUE(result.ok()) << result.status().message();
        return std::move(sequence).value();
    }

    Logits step(Sequence& sequence, std::int32_t token) {
        const auto logits = executor_->step(sequence, token);
        EXPECT_TRUE(logits.ok()) << logits.status().message();
        return logits.ok() ? Logits(logits->begin(), logits->end()) : Logits();
    }

    Logits extend(Sequence& sequence, const std::vector<std::int32_t>& tokens) {
        const auto logits = executor_->extend(sequence, tokens);
        EXPECT_TRUE(logits.ok()) << logits.status().message();
        return logits.ok() ? Logits(logits->begin(), logits->end()) : Logits();
    }

    std::unique_ptr<Executor> executor_;
};

TEST_F(SequenceOperations, KnowsItsTokensAndWhatEachLayerHolds) {
    const SequenceCase of = pruned_case();
    Sequence sequence = prompt(of);
    EXPECT_EQ(sequence.n_prompt(), 5U + 90 + 8);
    EXPECT_EQ(sequence.tokens()[0], of.prompt().parts()[0].tokens[0]);
    EXPECT_EQ(sequence.tokens()[5], kVisualToken);
    EXPECT_EQ(sequence.tokens()[5 + 89], kVisualToken);
    EXPECT_EQ(sequence.tokens()[5 + 90], of.prompt().parts()[2].tokens[0]);
    const std::vector<std::size_t> held = {103, 13 + 45, 13 + 45, 13 + 15, 13 + 15, 13 + 15};
    for (std::size_t layer = 0; layer < held.size(); ++layer) EXPECT_EQ(sequence.n_held(layer), held[layer]);
    EXPECT_EQ(sequence.next_position(), 103);
    EXPECT_EQ(sequence.room(), kRoom);
    step(sequence, 40);
    EXPECT_EQ(sequence.tokens().size(), 104U);
    EXPECT_EQ(sequence.tokens().back(), 40);
    EXPECT_EQ(sequence.n_prompt(), 103U);
    EXPECT_EQ(sequence.next_position(), 104);
    EXPECT_EQ(sequence.room(), kRoom - 1);
    for (std::size_t layer = 0; layer < held.size(); ++layer) {
        EXPECT_EQ(sequence.n_held(layer), held[layer] + 1);
    }
    sequence.clear();
    EXPECT_TRUE(sequence.is_empty());
    EXPECT_EQ(sequence.kv_bytes(), 0U);
    EXPECT_EQ(sequence.next_position(), 0);
}

TEST_F(SequenceOperations, AForkGoesOnByItself) {
    Sequence sequence = prompt(pruned_case());
    step(sequence, 40);
    auto fork = sequence.fork();
    ASSERT_TRUE(fork.ok()) << fork.status().message();
    EXPECT_EQ(fork->kv_bytes(), sequence.kv_bytes());
    EXPECT_EQ(fork->room(), sequence.room());
    EXPECT_EQ(fork->n_prompt(), sequence.n_prompt());

    // The fork goes another way; neither disturbs the other.
    Sequence straight = prompt(pruned_case());
    step(straight, 40);
    Sequence other = prompt(pruned_case());
    step(other, 40);
    for (std::int32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(step(*fork, 60 + i), step(other, 60 + i));
        EXPECT_EQ(step(sequence, 50 + i), step(straight, 50 + i));
    }
    sequence.clear();
    EXPECT_EQ(step(*fork, 70), step(other, 70));
}

TEST_F(SequenceOperations, AForkTakesTheRoomItIsGiven) {
    Sequence sequence = prompt(pruned_case());
    auto fork = sequence.fork(0);
    ASSERT_TRUE(fork.ok());
    EXPECT_EQ(fork->room(), 0);
    EXPECT_LT(fork->kv_bytes(), sequence.kv_bytes());
    EXPECT_EQ(executor_->step(*fork, 40).status().code(), Code::TooLarge);
    ASSERT_TRUE(fork->reserve(2).ok());
    EXPECT_EQ(fork->room(), 2);
    EXPECT_EQ(step(*fork, 40), step(sequence, 40));
    EXPECT_EQ(sequence.fork(2048).status().code(), Code::TooLarge);
    EXPECT_EQ(sequence.fork(-1).status().code(), Code::InvalidArgument);
    EXPECT_EQ(Sequence::create(small_layers())->fork().status().code(), Code::InvalidArgument);
}

TEST_F(SequenceOperations, MoreRoomChangesNoBit) {
    Sequence sequence = prompt(pruned_case());
    Sequence straight = prompt(pruned_case());
    step(sequence, 40);
    step(straight, 40);
    const std::size_t before = sequence.kv_bytes();
    ASSERT_TRUE(sequence.reserve(3).ok());
    EXPECT_EQ(sequence.kv_bytes(), before) << "there was room";
    ASSERT_TRUE(sequence.reserve(20).ok());
    EXPECT_EQ(sequence.room(), 20);
    std::size_t expected = 0;
    for (std::size_t layer = 0; layer < 6; ++layer) {
        expected += 2 * (sequence.n_held(layer) + 20) * 32 * sizeof(ggml_fp16_t);
    }
    EXPECT_EQ(sequence.kv_bytes(), expected);
    for (std::int32_t i = 0; i < 4; ++i) EXPECT_EQ(step(sequence, 50 + i), step(straight, 50 + i));
    EXPECT_EQ(sequence.reserve(2048).code(), Code::TooLarge);
    EXPECT_THAT(sequence.reserve(2048).message(), HasSubstr("context is 2048"));
}

TEST_F(SequenceOperations, CutBackIsAsIfTheTokensHadNeverBeenThere) {
    Sequence sequence = prompt(pruned_case());
    Sequence straight = prompt(pruned_case());
    step(sequence, 40);
    step(straight, 40);
    for (std::int32_t i = 0; i < 4; ++i) step(sequence, 90 + i);
    ASSERT_TRUE(sequence.cut_back(104).ok());
    EXPECT_EQ(sequence.tokens().size(), 104U);
    EXPECT_EQ(sequence.next_position(), straight.next_position());
    EXPECT_EQ(sequence.room(), straight.room());
    for (std::int32_t i = 0; i < 3; ++i) EXPECT_EQ(step(sequence, 50 + i), step(straight, 50 + i));

    // Back to the prompt's end.
    ASSERT_TRUE(sequence.cut_back(sequence.n_prompt()).ok());
    EXPECT_EQ(sequence.room(), kRoom);
    Sequence fresh = prompt(pruned_case());
    EXPECT_EQ(extend(sequence, {1, 2, 3}), extend(fresh, {1, 2, 3}));

    EXPECT_EQ(sequence.cut_back(94).code(), Code::InvalidArgument) << "a token of the image";
    EXPECT_EQ(sequence.cut_back(107).code(), Code::InvalidArgument);
    EXPECT_TRUE(sequence.cut_back(106).ok()) << "nothing to forget";
    EXPECT_EQ(sequence.tokens().size(), 106U);
}

// Text behind an image is in every layer, so a prompt's own words can be taken back too.
TEST_F(SequenceOperations, CutBackReachesTheEndOfTheImage) {
    const SequenceCase of = pruned_case();
    const auto words = of.prompt().parts().back().tokens;
    Sequence whole = prompt(of);
    Sequence sequence = prompt(of);
    EXPECT_EQ(sequence.n_fixed(), 95U);
    for (const std::size_t n : {100U, 95U}) {
        ASSERT_TRUE(sequence.cut_back(n).ok());
        EXPECT_EQ(sequence.n_prompt(), n);
        EXPECT_EQ(sequence.room(), kRoom + 103 - static_cast<std::int32_t>(n));
    }
    extend(sequence, {words.begin(), words.end()});
    ASSERT_EQ(std::vector(sequence.tokens().begin(), sequence.tokens().end()),
              std::vector(whole.tokens().begin(), whole.tokens().end()));
    EXPECT_LT(test::relative_distance(step(sequence, 40), step(whole, 40)), 5e-3);
    ASSERT_TRUE(sequence.trim().ok());
    EXPECT_EQ(sequence.room(), 0);
    EXPECT_LT(sequence.kv_bytes(), whole.kv_bytes());
}

TEST_F(SequenceOperations, ExtendingByOneIsAStep) {
    Sequence sequence = prompt(pruned_case());
    Sequence straight = prompt(pruned_case());
    EXPECT_EQ(extend(sequence, {40}), step(straight, 40));
    EXPECT_EQ(step(sequence, 41), step(straight, 41));
}

TEST_F(SequenceOperations, ExtendingIsStepByStepButForRounding) {
    for (const Pruning pruning : {Pruning::None, Pruning::Plain, Pruning::WithMasses, Pruning::Compact}) {
        const SequenceCase of(*small_layers(), {.n_image = 90, .pruning = pruning, .room = kRoom});
        Sequence sequence = prompt(of);
        Sequence straight = prompt(of);
        const std::vector<std::int32_t> tokens = {40, 41, 42, 43, 44};
        Logits expected;
        for (const std::int32_t token : tokens) expected = step(straight, token);
        const Logits found = extend(sequence, tokens);
        EXPECT_LT(test::relative_distance(found, expected), 5e-3);
        EXPECT_EQ(test::argmax(found), test::argmax(expected));
        EXPECT_LT(test::relative_distance(step(sequence, 7), step(straight, 7)), 5e-3);
        EXPECT_EQ(sequence.tokens().size(), straight.tokens().size());
        EXPECT_EQ(sequence.next_position(), straight.next_position());
        EXPECT_EQ(sequence.room(), straight.room());
    }
}

// A follow-up question over cached cells is what the whole prompt would have been.
TEST_F(SequenceOperations, ExtendingIsPrefillingTheWhole) {
    const SequenceCase of = pruned_case();
    std::vector<std::int32_t> more;
    for (std::int32_t i = 0; i < 70; ++i) more.push_back(20 + i);
    Sequence sequence = prompt(of);
    ASSERT_TRUE(sequence.reserve(71).ok());
    const Logits found = extend(sequence, more);

    std::vector<PromptPart> longer = of.prompt().parts();
    longer.push_back({.tokens = more});
    PrefillRequest request = of.request();
    request.parts = longer;
    request.room = 1;
    auto whole = Sequence::create(small_layers());
    const auto expected = executor_->prefill(*whole, request);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    EXPECT_LT(test::relative_distance(found, expected->logits), 5e-3);
    EXPECT_LT(test::relative_distance(step(sequence, 9), step(*whole, 9)), 5e-3);
    for (std::size_t layer = 0; layer < 6; ++layer) EXPECT_EQ(sequence.n_held(layer), whole->n_held(layer));
}

// With pieces of the same shape the same kernels run over the same cells.
TEST_F(SequenceOperations, ExtendingIsThePieceOfAPromptToTheBit) {
    const SequenceCase of(*small_layers(), {.n_image = 59, .pruning = Pruning::None, .room = 72});
    ASSERT_EQ(of.prompt().n_rows(), 72U);
    std::vector<std::int32_t> more;
    for (std::int32_t i = 0; i < 72; ++i) more.push_back(20 + i);
    auto pieces = Executor::create(small_layers(), {.batch_rows = 72});
    ASSERT_TRUE(pieces.ok());
    auto sequence = Sequence::create(small_layers());
    ASSERT_TRUE((*pieces)->prefill(*sequence, of.request()).ok());
    const auto found = (*pieces)->extend(*sequence, more);
    ASSERT_TRUE(found.ok()) << found.status().message();

    std::vector<PromptPart> longer = of.prompt().parts();
    longer.push_back({.tokens = more});
    auto whole = Sequence::create(small_layers());
    const auto expected = (*pieces)->prefill(*whole, {.parts = longer});
    EXPECT_EQ(Logits(found->begin(), found->end()), expected->logits);
}

TEST_F(SequenceOperations, LongExtensionsGoInPieces) {
    std::vector<std::int32_t> more;
    for (std::int32_t i = 0; i < 20; ++i) more.push_back(20 + i);
    const SequenceCase of(*small_layers(), {.n_image = 30, .pruning = Pruning::WithMasses, .room = 20});
    Sequence straight = prompt(of);
    const Logits expected = extend(straight, more);
    auto pieces = Executor::create(small_layers(), {.batch_rows = 7});
    Sequence sequence = prompt(of);
    const auto found = (*pieces)->extend(sequence, more);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_LT(test::relative_distance({found->begin(), found->end()}, expected), 1e-2);
    EXPECT_EQ(sequence.tokens().size(), straight.tokens().size());

    // A stop in the middle leaves no half.
    ASSERT_TRUE(sequence.cut_back(sequence.n_prompt()).ok());
    const std::atomic<bool> cancel = true;
    EXPECT_EQ((*pieces)->extend(sequence, more, &cancel).status().code(), Code::Cancelled);
    EXPECT_EQ(sequence.tokens().size(), sequence.n_prompt());
    EXPECT_EQ(sequence.room(), 20);
}

// Some layers at a time, while another sequence decodes in between.
TEST_F(SequenceOperations, ExtensionsInStepsAreThoseInOneGoToTheBit) {
    std::vector<std::int32_t> more;
    for (std::int32_t i = 0; i < 70; ++i) more.push_back(20 + i);
    const SequenceCase of(*small_layers(), {.n_image = 30, .pruning = Pruning::WithMasses, .room = 71});
    for (const std::int32_t batch_rows : {2048, 30}) {
        auto executor = Executor::create(small_layers(), {.batch_rows = batch_rows});
        Sequence straight = prompt(of);
        const auto whole = (*executor)->extend(straight, more);
        ASSERT_TRUE(whole.ok()) << whole.status().message();
        const Logits expected(whole->begin(), whole->end());
        const Logits expected_next = step(straight, 9);
        Sequence neighbour = prompt(SequenceCase(*small_layers(), {.n_image = 20, .room = 30, .seed = 3}));
        for (const std::size_t n : {1U, 2U, 4U, 6U, 100U}) {
            Sequence sequence = prompt(of);
            auto run = (*executor)->start_extending(sequence, more);
            ASSERT_TRUE(run.ok()) << run.status().message();
            double share = 0.0;
            while (!(*run)->is_done()) {
                EXPECT_EQ((*run)->share_done(), share);
                ASSERT_TRUE((*run)->advance(n, nullptr).ok());
                EXPECT_GT((*run)->share_done(), share);
                share = (*run)->share_done();
                ASSERT_TRUE((*executor)->step(neighbour, 30).ok());
            }
            EXPECT_EQ(share, 1.0);
            ASSERT_TRUE(neighbour.cut_back(neighbour.n_prompt()).ok());
            EXPECT_EQ((*run)->take_logits(), expected) << n << " layers at a time";
            EXPECT_EQ(step(sequence, 9), expected_next);
        }
    }
}

TEST_F(SequenceOperations, AnExtensionThatIsGivenUpLeavesNothing) {
    std::vector<std::int32_t> more;
    for (std::int32_t i = 0; i < 20; ++i) more.push_back(20 + i);
    const SequenceCase of(*small_layers(), {.n_image = 30, .pruning = Pruning::WithMasses, .room = 20});
    auto executor = Executor::create(small_layers(), {.batch_rows = 7});
    Sequence sequence = prompt(of);
    const Logits expected = extend(sequence, more);
    ASSERT_TRUE(sequence.cut_back(sequence.n_prompt()).ok());
    {
        auto run = (*executor)->start_extending(sequence, more);
        ASSERT_TRUE((*run)->advance(9, nullptr).ok());
        EXPECT_GT(sequence.tokens().size(), sequence.n_prompt()) << "a piece was through";
    }
    EXPECT_EQ(sequence.tokens().size(), sequence.n_prompt());
    {
        const std::atomic<bool> cancel = true;
        auto run = (*executor)->start_extending(sequence, more);
        ASSERT_TRUE((*run)->advance(2, nullptr).ok());
        EXPECT_EQ((*run)->advance(2, &cancel).code(), Code::Cancelled);
    }
    EXPECT_EQ(sequence.room(), 20);
    EXPECT_EQ(extend(sequence, more), expected);
}

TEST_F(SequenceOperations, WhatCannotBeExtendedIsSaid) {
    Sequence sequence = prompt(pruned_case());
    EXPECT_EQ(executor_->extend(sequence, {}).status().code(), Code::InvalidArgument);
    const std::vector<std::int32_t> unknown = {5, 400};
    EXPECT_EQ(executor_->extend(sequence, unknown).status().code(), Code::InvalidArgument);
    const std::vector<std::int32_t> many(9, 5);
    const Status status = executor_->extend(sequence, many).status();
    EXPECT_EQ(status.code(), Code::TooLarge);
    EXPECT_THAT(status.message(), HasSubstr("no room for 9 tokens after position 102, but for 8"));
    EXPECT_EQ(sequence.tokens().size(), 103U) << "nothing has happened";

    auto empty = Sequence::create(small_layers());
    EXPECT_EQ(executor_->step(*empty, 5).status().code(), Code::InvalidArgument);
    const auto other_model = test::load_random_llama("sequence_other", {});
    auto stranger = Sequence::create(other_model);
    EXPECT_EQ(executor_->prefill(*stranger, pruned_case().request()).status().code(), Code::InvalidArgument);
    EXPECT_EQ(executor_->step(*stranger, 5).status().code(), Code::InvalidArgument);
    EXPECT_EQ(Sequence::create(small_layers(), {.kv_type = GGML_TYPE_Q8_0}).status().code(),
              Code::InvalidArgument);
    EXPECT_EQ(Executor::create(small_layers(), {.batch_rows = 0}).status().code(), Code::InvalidArgument);
}

// ---- Prompts in steps ----

struct Steps {
    std::string name;
    Pruning pruning;
    StageMode mode;
};

class PrefillSteps : public testing::TestWithParam<Steps> {};

TEST_P(PrefillSteps, AreThePromptInOneGoToTheBit) {
    for (const std::int32_t batch_rows : {2048, 40}) {
        const SequenceCase of(
            *small_layers(),
            {.n_image = 90, .pruning = GetParam().pruning, .mode = GetParam().mode, .room = kRoom});
        auto executor = Executor::create(small_layers(), {.batch_rows = batch_rows});
        auto whole = Sequence::create(small_layers());
        const auto expected = (*executor)->prefill(*whole, of.request());
        ASSERT_TRUE(expected.ok()) << expected.status().message();
        const auto next = (*executor)->step(*whole, 30);
        const Logits expected_next(next->begin(), next->end());

        // Another sequence decodes between the steps.
        const SequenceCase neighbour_case(*small_layers(), {.n_image = 20, .room = 12, .seed = 3});
        auto neighbour = Sequence::create(small_layers());
        ASSERT_TRUE((*executor)->prefill(*neighbour, neighbour_case.request()).ok());
        for (const std::size_t n : {1U, 2U, 4U, 6U, 100U}) {
            auto sequence = Sequence::create(small_layers());
            auto run = (*executor)->start(*sequence, of.request());
            ASSERT_TRUE(run.ok()) << run.status().message();
            while (!(*run)->is_done()) {
                EXPECT_TRUE(sequence->is_empty()) << "nobody may continue it yet";
                ASSERT_TRUE((*run)->advance(n).ok());
                ASSERT_TRUE((*executor)->step(*neighbour, 30).ok());
            }
            ASSERT_TRUE(neighbour->cut_back(neighbour->n_prompt()).ok());
            const PrefillResult found = (*run)->take_result();
            EXPECT_EQ(found.logits, expected->logits) << n << " layers at a time";
            EXPECT_EQ(found.rows_per_layer, expected->rows_per_layer);
            EXPECT_EQ(found.visual_per_layer, expected->visual_per_layer);
            EXPECT_EQ(found.kv_bytes, expected->kv_bytes);
            EXPECT_EQ(found.stages.size(), expected->stages.size());
            EXPECT_EQ(sequence->groups().size(), whole->groups().size());
            const auto after = (*executor)->step(*sequence, 30);
            EXPECT_EQ(Logits(after->begin(), after->end()), expected_next);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, PrefillSteps,
                         testing::Values(Steps{"whole", Pruning::None, StageMode::Before},
                                         Steps{"before", Pruning::WithMasses, StageMode::Before},
                                         Steps{"after", Pruning::WithMasses, StageMode::After},
                                         Steps{"compact", Pruning::Compact, StageMode::Before}),
                         [](const auto& test) { return test.param.name; });

TEST(PrefillGivenUp, LeavesTheSequenceEmpty) {
    const SequenceCase of = pruned_case();
    auto executor = Executor::create(small_layers());
    auto sequence = Sequence::create(small_layers());
    {
        auto run = (*executor)->start(*sequence, of.request());
        ASSERT_TRUE((*run)->advance(3).ok());
        EXPECT_GT(sequence->kv_bytes(), 0U);
        EXPECT_EQ((*executor)->step(*sequence, 5).status().code(), Code::InvalidArgument);
    }
    EXPECT_TRUE(sequence->is_empty());
    EXPECT_EQ(sequence->kv_bytes(), 0U);

    PrefillRequest request = of.request();
    request.selector = [](const StageView&) -> Result<StageChoice> { return Status(Code::Deadline, "late"); };
    auto run = (*executor)->start(*sequence, request);
    ASSERT_TRUE((*run)->advance(1).ok());
    EXPECT_EQ((*run)->advance(1).code(), Code::Deadline);
    EXPECT_EQ((*run)->advance(1).code(), Code::InvalidArgument);
    EXPECT_FALSE((*run)->is_done());
    EXPECT_EQ(sequence->kv_bytes(), 0U);
}

}  // namespace
}  // namespace clasp::engine
