// Every row of the table of decoder architectures with tokens dropped between blocks, against a slow
// reference in plain loops: what libllama cannot show.
#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "model/text_family.h"
#include "support/decoder_case.h"
#include "support/reference_decoder.h"
#include "support/session.h"

namespace clasp::engine {
namespace {

using test::DecoderCase;
using test::Dropping;
using test::RandomLlama;
using test::ReferenceDecoder;
using test::ReferenceRun;

constexpr test::SessionOptions kPrecise = {.kv_type = GGML_TYPE_F32};
constexpr double kTight = 1e-4;
// GELU goes through a table in half precision.
constexpr double kGelu = 5e-3;

class ArchitectureStages : public testing::TestWithParam<std::string> {
   protected:
    void SetUp() override {
        RandomLlama spec = test::random_architecture(GetParam());
        spec.n_layers = 6;
        model_ = test::load_random_llama("stages_" + GetParam(), spec, {.repack = false});
        prompt_ = std::make_unique<DecoderCase>(*model_, std::vector<std::size_t>{20, 12},
                                                std::vector<std::size_t>{60});
        for (const std::int32_t layer : {1, 4}) {
            stages_.push_back({.layer = layer,
                               .needs = {.scores = true,
                                         .rows = methods::StageNeeds::Rows::Probabilities,
                                         .key_norms = true,
                                         .hidden = methods::StageNeeds::Hidden::Raw},
                               .reference = prompt_->question()});
        }
        for (TokenIndex i = 0; i < 60; i += 3) thirds_.push_back(i);
    }

    [[nodiscard]] double tolerance() const {
        const bool is_gelu = model_->config().family->activation == model::GateActivation::GeluTanh;
        return is_gelu ? kGelu : kTight;
    }
    [[nodiscard]] PrefillRequest request(std::vector<std::vector<TokenIndex>> kept,
                                         std::vector<std::vector<float>> masses = {}) const {
        PrefillRequest wanted = {.parts = prompt_->parts(), .stages = stages_};
        wanted.selector = [kept, masses](const StageView& view) -> Result<StageChoice> {
            return StageChoice{kept[view.stage], masses.empty() ? std::vector<float>() : masses[view.stage]};
        };
        return wanted;
    }
    [[nodiscard]] std::vector<float> run(const PrefillRequest& wanted,
                                         const test::SessionOptions& options = kPrecise) const {
        test::Session session(model_, options);
        const auto result = session.prefill(wanted);
        EXPECT_TRUE(result.ok()) << result.status().message();
        return result.ok() ? result->logits : std::vector<float>();
    }

    std::shared_ptr<const model::TextModel> model_;
    std::unique_ptr<DecoderCase> prompt_;
    std::vector<PrefillStage> stages_;
    std::vector<TokenIndex> thirds_;
};

TEST_P(ArchitectureStages, DroppingEqualsMaskingTheKeyFromThenOn) {
    const PrefillRequest wanted = request({thirds_, {0, 30, 57}});
    const ReferenceDecoder reference(*model_);
    const ReferenceRun removed = reference.run(wanted, Dropping::Remove);
    const ReferenceRun masked = reference.run(wanted, Dropping::Mask);
    EXPECT_LT(test::relative_distance(removed.logits, masked.logits), 1e-6);
    EXPECT_LT(test::relative_distance(run(wanted), masked.logits), tolerance());
    // Positions that counted anew would be seen.
    PrefillRequest compact = wanted;
    compact.positions = PositionMode::Compact;
    EXPECT_GT(test::relative_distance(run(compact), masked.logits), 1e-2);
}

TEST_P(ArchitectureStages, MassesCountInEveryLayer) {
    const PrefillRequest wanted =
        request({thirds_, {0, 30, 57}}, {std::vector<float>(20, 3.0F), {20, 30, 10}});
    const ReferenceRun expected = ReferenceDecoder(*model_).run(wanted);
    // The logarithm of a mass travels in half precision.
    EXPECT_LT(test::relative_distance(run(wanted), expected.logits), 5e-3);
    EXPECT_GT(test::relative_distance(run(request({thirds_, {0, 30, 57}})), expected.logits), 1e-2);
}

TEST_P(ArchitectureStages, ViewsShowWhatTheReferenceSees) {
    PrefillRequest wanted = request({thirds_, {0, 30, 57}});
    const ReferenceRun expected = ReferenceDecoder(*model_).run(wanted);
    const StageSelector inner = wanted.selector;
    std::size_t n_stages = 0;
    wanted.selector = [&](const StageView& view) {
        const auto near = [](std::span<const float> values, const std::vector<float>& reference) {
            return test::relative_distance({values.begin(), values.end()}, reference);
        };
        EXPECT_LT(near(view.seen.scores.values(), expected.scores[view.stage]), tolerance());
        EXPECT_LT(near(view.seen.rows.row(0), expected.first_row[view.stage]), tolerance());
        EXPECT_LT(near(view.seen.key_norms.values(), expected.key_norms[view.stage]), tolerance());
        EXPECT_LT(near(view.seen.hidden.values(), expected.hidden[view.stage]), tolerance());
        ++n_stages;
        return inner(view);
    };
    EXPECT_FALSE(run(wanted).empty());
    EXPECT_EQ(n_stages, 2U);
}

TEST_P(ArchitectureStages, KeepingEverythingChangesNoBit) {
    std::vector<TokenIndex> all(60);
    std::iota(all.begin(), all.end(), 0U);
    EXPECT_EQ(run(request({all, all}), {}), run({.parts = prompt_->parts()}, {}));
}

TEST_P(ArchitectureStages, LosingTokensBeforeTheDecoderEqualsAStageBeforeItsFirstBlock) {
    stages_ = {{.layer = 0}};
    const DecoderCase pruned = prompt_->with_visual({0, 3, 4, 41, 59}, 64);
    EXPECT_EQ(run({.parts = pruned.parts()}), run(request({{0, 3, 4, 41, 59}})));
}

TEST_P(ArchitectureStages, DecodingEqualsRecomputing) {
    PrefillRequest wanted = request({thirds_, {0, 30, 57}}, {std::vector<float>(20, 3.0F), {20, 30, 10}});
    wanted.room = 20;
    test::Session session(model_, kPrecise);
    ASSERT_TRUE(session.prefill(wanted).ok());
    const ReferenceDecoder reference(*model_);
    // More than a window holds, so that the picture leaves it.
    std::vector<std::int32_t> more(20);
    std::iota(more.begin(), more.end(), 30);
    std::vector<PromptPart> longer = prompt_->parts();
    longer.push_back({.tokens = more});
    for (std::size_t i = 0; i < more.size(); ++i) {
        const auto next = session.decode(more[i]);
        ASSERT_TRUE(next.ok()) << next.status().message();
        if (i % 5 != 4) continue;
        longer.back().tokens = std::span(more).first(i + 1);
        PrefillRequest whole = wanted;
        whole.parts = longer;
        whole.room = 0;
        EXPECT_LT(test::relative_distance({next->begin(), next->end()}, reference.run(whole).logits), 5e-3)
            << "token " << i;
    }
}

std::vector<std::string> architecture_names() {
    std::vector<std::string> names;
    for (const model::TextFamily& family : model::text_families()) names.emplace_back(family.architecture);
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, ArchitectureStages, testing::ValuesIn(architecture_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace clasp::engine
