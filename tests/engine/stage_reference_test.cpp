// Every stage looks through the eyes of its own reference tokens.
#include <gtest/gtest.h>

#include <vector>

#include "engine/decoder_input.h"
#include "support/decoder_case.h"
#include "support/reference_decoder.h"

namespace clasp::engine {
namespace {

using methods::Reference;
using methods::StageNeeds;
using test::DecoderCase;
using test::ReferenceDecoder;
using test::ReferenceRun;

std::shared_ptr<const model::TextModel> reference_model() {
    static const auto model = test::load_random_llama("references", {.n_layers = 6});
    return model;
}

class StagesRun : public methods::MethodRun {
   public:
    explicit StagesRun(const std::vector<StageNeeds>& needs) {
        for (const StageNeeds& need : needs) {
            program_.stages.push_back({.layer = program_.stages.size(), .keep = 1, .needs = need});
        }
    }
};

// A prompt of 9 tokens, of which 4, 5 and 6 are the user's.
Prompt text_prompt() {
    PromptPiece piece;
    for (std::int32_t i = 0; i < 9; ++i) {
        piece.tokens.push_back(20 + i);
        piece.is_instruction.push_back(i >= 4 && i <= 6);
    }
    return {.pieces = {piece}, .chat_template = {}, .note = {}};
}

TEST(StageReferences, AreEachStagesOwn) {
    const StagesRun run({{.reference = Reference::Last, .scores = true},
                         {.reference = Reference::Post, .rows = StageNeeds::Rows::Probabilities},
                         {.reference = Reference::Instruction, .rows = StageNeeds::Rows::PerHead},
                         {.reference = Reference::Policy, .rows = StageNeeds::Rows::Logits},
                         {.reference = Reference::Last, .key_norms = true},
                         {.reference = Reference::All, .scores = true}});
    auto executor = Executor::create(reference_model());
    ASSERT_TRUE(executor.ok());
    const std::vector<std::int32_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const auto references = [&](ReferenceTokens of_policy) {
        const auto input = lay_out_decoder(text_prompt(), {}, nullptr, &run, of_policy, **executor);
        EXPECT_TRUE(input.ok()) << input.status().message();
        std::vector<std::vector<std::int32_t>> found;
        for (const PrefillStage& stage : input->stages) found.push_back(stage.reference);
        return found;
    };
    using Lists = std::vector<std::vector<std::int32_t>>;
    EXPECT_EQ(references(ReferenceTokens::Instruction), (Lists{{8}, all, {4, 5, 6}, {4, 5, 6}, {}, all}));
    EXPECT_EQ(references(ReferenceTokens::Last), (Lists{{8}, all, {4, 5, 6}, {8}, {}, all}));
}

// The first stage asks the last token and drops tokens, so that rows move; the second asks the whole
// question. Rows average to scores, per head or not.
class TwoReferences : public testing::TestWithParam<StageNeeds> {};

TEST_P(TwoReferences, GiveTheSignalsOfTheirOwnTokens) {
    const DecoderCase prompt(*reference_model(), {5, 8}, {40, 50});
    const std::vector<PrefillStage> stages = {
        {.layer = 1, .needs = GetParam(), .reference = {prompt.question().back()}},
        {.layer = 3, .needs = GetParam(), .reference = prompt.question()}};
    std::vector<TokenIndex> thirds;
    for (TokenIndex i = 0; i < 90; i += 3) thirds.push_back(i);
    std::vector<std::vector<float>> means;
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = [&](const StageView& view) -> Result<StageChoice> {
        const FeatureView rows = view.seen.scores.empty() ? view.seen.rows.view() : view.seen.scores.view();
        std::vector<float> mean(rows.width);
        for (std::size_t i = 0; i < rows.rows * rows.width; ++i) {
            mean[i % rows.width] += rows.data[i] / static_cast<float>(rows.rows);
        }
        means.push_back(mean);
        return StageChoice{view.stage == 0 ? thirds : std::vector<TokenIndex>{0, 30, 87}, {}};
    };
    const ReferenceRun expected = ReferenceDecoder(*reference_model()).run(request);
    means.clear();
    auto executor = Executor::create(reference_model());
    auto sequence = Sequence::create(reference_model(), {.kv_type = GGML_TYPE_F32});
    const auto result = (*executor)->prefill(*sequence, request);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_EQ(means.size(), 2U);
    for (std::size_t stage = 0; stage < 2; ++stage) {
        EXPECT_LT(test::relative_distance(means[stage], expected.scores[stage]), 1e-4) << "stage " << stage;
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TwoReferences,
                         testing::Values(StageNeeds{.scores = true},
                                         StageNeeds{.rows = StageNeeds::Rows::Probabilities},
                                         StageNeeds{.rows = StageNeeds::Rows::PerHead}));

TEST(StageReferences, OfAnImageAreRefusedOnceTokensMayHaveLeft) {
    const DecoderCase prompt(*reference_model(), {5, 8}, {70});
    const StageNeeds needs = {.scores = true};
    const std::vector<PrefillStage> stages = {{.layer = 1, .needs = needs, .reference = {6, 7}},
                                              {.layer = 3, .needs = needs, .reference = {6}}};
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = [](const StageView&) -> Result<StageChoice> { return StageChoice{{1, 2}, {}}; };
    auto executor = Executor::create(reference_model());
    auto sequence = Sequence::create(reference_model());
    EXPECT_EQ(
        (*executor)->prefill(*sequence, request).status().message(),
        "reference token 6 of the stage at layer 3 belongs to an image, whose tokens only the first stage "
        "can ask");
    request.stages = request.stages.first(1);
    EXPECT_TRUE((*executor)->prefill(*sequence, request).ok());
}

}  // namespace
}  // namespace clasp::engine
