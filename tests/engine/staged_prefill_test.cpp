// Dropping tokens between blocks, against a slow reference in plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "clasp/select.h"
#include "engine/executor.h"
#include "support/decoder_case.h"
#include "support/reference_decoder.h"

namespace clasp::engine {
namespace {

using methods::StageNeeds;
using test::DecoderCase;
using test::Dropping;
using test::RandomLlama;
using test::ReferenceDecoder;
using test::ReferenceRun;

std::shared_ptr<const model::TextModel> six_layers() {
    static const auto model = test::load_random_llama("staged", {.n_layers = 6});
    return model;
}

// In single precision throughout, the engine can be held to tight bounds.
constexpr SequenceOptions kPrecise = {.kv_type = GGML_TYPE_F32};
constexpr double kTight = 1e-4;

// The selection core over one Gram matrix of the visual embeddings, with or without masses.
class CoreSelector {
   public:
    CoreSelector(const DecoderCase& prompt, std::size_t width, std::vector<std::size_t> budgets,
                 bool has_masses)
        : budgets_(std::move(budgets)), has_masses_(has_masses), n_(prompt.n_visual()) {
        std::vector<float> features;
        for (const PromptPart& part : prompt.parts()) {
            features.insert(features.end(), part.embeddings.begin(), part.embeddings.end());
        }
        gram_.resize(n_ * n_);
        SelectWorkspace workspace;
        EXPECT_TRUE(gram({features.data(), n_, width, width}, workspace, nullptr, gram_.data(), n_).ok());
    }

    // Called from the start again for every run.
    StageSelector selector() {
        masses_.assign(n_, 1.0F);
        return [this](const StageView& view) -> Result<StageChoice> {
            const GramView gram = {gram_.data(), n_, n_};
            SelectWorkspace workspace;
            SelectPlan plan;
            CLASP_RETURN_IF_ERROR(
                select({.gram = gram, .features = {}, .live = view.live, .scores = view.seen.scores.values()},
                       {.budget = budgets_[view.stage], .split = 0.6}, workspace, nullptr, plan));
            StageChoice choice = {plan.kept, {}};
            if (has_masses_) {
                CLASP_RETURN_IF_ERROR(assign_masses(gram, view.live, plan.kept, masses_));
                for (const TokenIndex token : plan.kept) choice.masses.push_back(masses_[token]);
            }
            kept.push_back(plan.kept);
            return choice;
        };
    }

    std::vector<std::vector<TokenIndex>> kept;

   private:
    std::vector<std::size_t> budgets_;
    bool has_masses_;
    std::size_t n_;
    std::vector<float> gram_;
    std::vector<float> masses_;
};

StageSelector fixed(std::vector<std::vector<TokenIndex>> kept, std::vector<std::vector<float>> masses = {}) {
    return [kept, masses](const StageView& view) -> Result<StageChoice> {
        return StageChoice{kept[view.stage], masses.empty() ? std::vector<float>() : masses[view.stage]};
    };
}

// Stages that all want the scores that the question gives.
std::vector<PrefillStage> stages_at(const DecoderCase& prompt, const std::vector<std::int32_t>& layers,
                                    StageMode mode = StageMode::Before) {
    std::vector<PrefillStage> stages;
    for (const std::int32_t layer : layers) {
        stages.push_back(
            {.layer = layer, .mode = mode, .needs = {.scores = true}, .reference = prompt.question()});
    }
    return stages;
}

PrefillResult run(const PrefillRequest& request, const SequenceOptions& options = kPrecise) {
    auto executor = Executor::create(six_layers());
    auto sequence = Sequence::create(six_layers(), options);
    auto result = (*executor)->prefill(*sequence, request);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : PrefillResult{};
}

struct ThreeStages {
    std::string name;
    StageMode mode;
    bool has_masses;
    std::vector<std::size_t> images;
};

class StagedPrefill : public testing::TestWithParam<ThreeStages> {};

TEST_P(StagedPrefill, EqualsTheReferenceAfterThreeStages) {
    const DecoderCase prompt(*six_layers(), {5, 8}, GetParam().images);
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 2, 4}, GetParam().mode);
    CoreSelector core(prompt, 64, {60, 30, 11}, GetParam().has_masses);
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = core.selector();
    const PrefillResult result = run(request);
    const auto engine_kept = std::exchange(core.kept, {});

    request.selector = core.selector();
    const ReferenceRun expected = ReferenceDecoder(*six_layers()).run(request);
    EXPECT_EQ(engine_kept, expected.kept);
    ASSERT_EQ(engine_kept.size(), 3U);
    EXPECT_EQ(engine_kept[2].size(), 11U);
    // The logarithm of a mass travels in half precision.
    EXPECT_LT(test::relative_distance(result.logits, expected.logits), GetParam().has_masses ? 5e-3 : kTight);
}

INSTANTIATE_TEST_SUITE_P(Ways, StagedPrefill,
                         testing::Values(ThreeStages{"before", StageMode::Before, false, {90}},
                                         ThreeStages{"after", StageMode::After, false, {90}},
                                         ThreeStages{"masses", StageMode::Before, true, {90}},
                                         ThreeStages{"two_images", StageMode::Before, false, {40, 50}}),
                         [](const auto& test) { return test.param.name; });

TEST(StagedPrefillViews, ShowWhatTheReferenceSees) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    std::vector<PrefillStage> stages = stages_at(prompt, {0, 3});
    for (PrefillStage& stage : stages) {
        stage.needs.rows = StageNeeds::Rows::Probabilities;
        stage.needs.key_norms = true;
        stage.needs.hidden = StageNeeds::Hidden::Raw;
    }
    std::vector<TokenIndex> even;
    for (TokenIndex i = 0; i < 90; i += 2) even.push_back(i);
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({even, {0, 4, 88}});
    const ReferenceRun expected = ReferenceDecoder(*six_layers()).run(request);

    const StageSelector inner = request.selector;
    std::size_t n_stages = 0;
    request.selector = [&](const StageView& view) {
        const auto near = [](std::span<const float> values, const std::vector<float>& reference) {
            return test::relative_distance({values.begin(), values.end()}, reference);
        };
        EXPECT_LT(near(view.seen.scores.values(), expected.scores[view.stage]), kTight);
        EXPECT_LT(near(view.seen.rows.row(0), expected.first_row[view.stage]), kTight);
        EXPECT_LT(near(view.seen.key_norms.values(), expected.key_norms[view.stage]), kTight);
        EXPECT_LT(near(view.seen.hidden.values(), expected.hidden[view.stage]), kTight);
        ++n_stages;
        return inner(view);
    };
    run(request);
    EXPECT_EQ(n_stages, 2U);
}

TEST(StagedPrefillViews, AllTokensOfThePromptCanBeAskedByOneStage) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    std::vector<std::int32_t> everyone(5 + 90 + 8);
    std::iota(everyone.begin(), everyone.end(), 0);
    std::vector<PrefillStage> stages = stages_at(prompt, {2});
    stages[0].reference = everyone;
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({{0, 4, 88}});
    const ReferenceRun expected = ReferenceDecoder(*six_layers()).run(request);
    std::size_t n_stages = 0;
    request.selector = [&](const StageView& view) -> Result<StageChoice> {
        const auto scores = view.seen.scores.values();
        EXPECT_LT(test::relative_distance({scores.begin(), scores.end()}, expected.scores[0]), kTight);
        ++n_stages;
        return StageChoice{{0, 4, 88}, {}};
    };
    run(request);
    EXPECT_EQ(n_stages, 1U);
}

TEST(StagedPrefillViews, RowsCanBeLogits) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {70});
    std::vector<PrefillStage> stages = stages_at(prompt, {2});
    stages[0].needs = {.rows = StageNeeds::Rows::Logits};
    stages[0].reference = {prompt.question().front(), 82};
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({{0, 1}});
    const ReferenceRun expected = ReferenceDecoder(*six_layers()).run(request);
    std::vector<float> rows;
    request.selector = [&](const StageView& view) -> Result<StageChoice> {
        EXPECT_TRUE(view.seen.scores.empty());
        rows.assign(view.seen.rows.values().begin(), view.seen.rows.values().end());
        return StageChoice{{0, 1}, {}};
    };
    run(request);
    ASSERT_EQ(rows.size(), 140U);
    rows.resize(70);
    EXPECT_LT(test::relative_distance(rows, expected.first_logits[0]), kTight);
}

TEST(StagedPrefillLaws, DroppingEqualsMaskingTheKeyFromThenOn) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 3});
    std::vector<TokenIndex> first;
    for (TokenIndex i = 0; i < 90; i += 3) first.push_back(i);
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({first, {0, 30, 60, 87}});
    const ReferenceDecoder reference(*six_layers());
    const ReferenceRun removed = reference.run(request, Dropping::Remove);
    const ReferenceRun masked = reference.run(request, Dropping::Mask);
    EXPECT_LT(test::relative_distance(removed.logits, masked.logits), 1e-6);
    EXPECT_LT(test::relative_distance(run(request).logits, masked.logits), kTight);
}

TEST(StagedPrefillLaws, KeepingEverythingChangesNoBit) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    std::vector<TokenIndex> all(90);
    std::iota(all.begin(), all.end(), 0U);
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 2, 4});
    const PrefillResult plain = run({.parts = prompt.parts()}, {});
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({all, all, all});
    EXPECT_EQ(run(request, {}).logits, plain.logits);
    request.selector =
        fixed({all, all, all}, std::vector<std::vector<float>>(3, std::vector<float>(90, 1.0F)));
    EXPECT_EQ(run(request, {}).logits, plain.logits);
}

// Without rotation, and with nothing before them, copies of one token stay equal in every block. So one
// of them with their number as mass does the work of all: exactly, but for the half precision in which
// the logarithm of the mass travels.
TEST(StagedPrefillLaws, AMassStandsForCopies) {
    const auto model =
        test::load_random_llama("unrotated", {.n_layers = 6, .has_rope_factors = true, .rope_factor = 1e9F});
    DecoderCase prompt(*model, {0, 8}, {80});
    for (std::size_t i = 64; i < 80 * 64; ++i) prompt.image(0)[i] = prompt.image(0)[i % 64];
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 3});
    const std::vector<std::vector<TokenIndex>> kept = {{0, 5, 11, 40, 79}, {5, 40}};
    // Logits after the prompt, and after one more token.
    const auto logits = [&](std::span<const PrefillStage> wanted, const StageSelector& selector) {
        auto executor = Executor::create(model);
        auto sequence = Sequence::create(model, kPrecise);
        const auto prefill = (*executor)->prefill(
            *sequence, {.parts = prompt.parts(), .stages = wanted, .selector = selector, .room = 1});
        EXPECT_TRUE(prefill.ok()) << prefill.status().message();
        const auto next = (*executor)->step(*sequence, 7);
        EXPECT_TRUE(next.ok());
        return std::vector<std::vector<float>>{prefill->logits, {next->begin(), next->end()}};
    };
    const auto whole = logits({}, {});
    const auto massive = logits(stages, fixed(kept, {{16, 16, 16, 16, 16}, {48, 32}}));
    const auto light = logits(stages, fixed(kept));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_LT(test::relative_distance(massive[i], whole[i]), 5e-3);
        EXPECT_GT(test::relative_distance(light[i], whole[i]), 0.1);
    }
}

TEST(StagedPrefillLaws, DecodingEqualsRecomputing) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 2, 4});
    CoreSelector core(prompt, 64, {60, 30, 11}, true);
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages, .room = 3};
    request.selector = core.selector();
    std::vector<StageChoice> choices;
    request.selector = [&, inner = request.selector](const StageView& view) {
        auto choice = inner(view);
        choices.push_back(*choice);
        return choice;
    };
    auto executor = Executor::create(six_layers());
    auto sequence = Sequence::create(six_layers(), kPrecise);
    ASSERT_TRUE((*executor)->prefill(*sequence, request).ok());

    const std::vector<std::int32_t> more = {17, 200, 42};
    std::vector<PromptPart> longer = prompt.parts();
    longer.push_back({.tokens = more});
    for (std::size_t i = 0; i < more.size(); ++i) {
        const auto next = (*executor)->step(*sequence, more[i]);
        ASSERT_TRUE(next.ok()) << next.status().message();
        longer.back().tokens = std::span(more).first(i + 1);
        const ReferenceRun expected =
            ReferenceDecoder(*six_layers())
                .run({.parts = longer,
                      .stages = stages,
                      .selector = [&](const StageView& view) -> Result<StageChoice> {
                          return choices[view.stage];
                      }});
        EXPECT_LT(test::relative_distance({next->begin(), next->end()}, expected.logits), 5e-3);
    }
}

TEST(StagedPrefillPositions, CompactOnesCountAnewInEveryLayerAndWhileDecoding) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 3});
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({{1, 20, 30, 40, 50, 60}, {20, 50}});
    const std::vector<float> kept = run(request).logits;
    request.positions = PositionMode::Compact;
    request.room = 2;
    auto executor = Executor::create(six_layers());
    auto sequence = Sequence::create(six_layers(), kPrecise);
    const auto compact = (*executor)->prefill(*sequence, request);
    ASSERT_TRUE(compact.ok());
    EXPECT_NE(compact->logits, kept);

    const std::vector<std::int32_t> more = {17, 200};
    std::vector<PromptPart> longer = prompt.parts();
    longer.push_back({.tokens = more});
    for (std::size_t i = 0; i < more.size(); ++i) {
        const auto next = (*executor)->step(*sequence, more[i]);
        ASSERT_TRUE(next.ok()) << next.status().message();
        longer.back().tokens = std::span(more).first(i + 1);
        PrefillRequest whole = request;
        whole.parts = longer;
        whole.room = 0;
        EXPECT_LT(test::relative_distance({next->begin(), next->end()}, run(whole).logits), 5e-3);
    }
}

// Tokens that leave before the decoder, or at a stage before its first block, leave the same behind.
TEST(StagedPrefillPlaces, AreThoseOfTheUnprunedPrompt) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {70});
    const std::vector<PrefillStage> stages = stages_at(prompt, {0});
    PrefillRequest staged = {.parts = prompt.parts(), .stages = stages};
    const std::vector<TokenIndex> kept = {0, 3, 4, 50, 69};
    const std::vector<float> masses = {1, 2, 30, 30, 7};
    staged.selector = fixed({kept}, {masses});

    std::vector<PromptPart> parts = prompt.parts();
    const std::size_t width = 64;
    std::vector<float> embeddings;
    const std::vector<std::int32_t> places = {0, 3, 4, 50, 69};
    for (PromptPart& part : parts) {
        if (part.embeddings.empty()) continue;
        for (const std::int32_t place : places) {
            const auto row = part.embeddings.subspan(static_cast<std::size_t>(place) * width, width);
            embeddings.insert(embeddings.end(), row.begin(), row.end());
        }
        part = {.embeddings = embeddings, .places = places, .n_unpruned = 70, .masses = masses};
    }
    EXPECT_EQ(run({.parts = parts}).logits, run(staged).logits);
    parts[1].places = {};
    parts[1].n_unpruned = 0;
    EXPECT_NE(run({.parts = parts}).logits, run(staged).logits);
}

TEST(StagedPrefillMerging, ReplacesTheHiddenStateOfAToken) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {70});
    const std::vector<PrefillStage> stages = stages_at(prompt, {2}, StageMode::After);
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    request.selector = fixed({{1, 7}});
    const std::vector<float> plain = run(request).logits;
    const auto merging = [](TokenIndex token, std::vector<MergedToken::Source> sources) -> StageSelector {
        return [=](const StageView&) -> Result<StageChoice> {
            return StageChoice{{1, token}, {}, {{token, sources}}};
        };
    };
    request.selector = merging(7, {{7, 1.0F}});
    EXPECT_EQ(run(request).logits, plain);
    request.selector = merging(7, {{7, 0.5F}, {9, 0.5F}});
    EXPECT_NE(run(request).logits, plain);
    // With compact positions only the hidden state counts, not whose place it takes.
    request.positions = PositionMode::Compact;
    request.selector = fixed({{1, 7}});
    const std::vector<float> compact = run(request).logits;
    request.selector = merging(30, {{7, 1.0F}});
    EXPECT_EQ(run(request).logits, compact);
    request.selector = merging(7, {{80, 1.0F}});
    auto executor = Executor::create(six_layers());
    auto sequence = Sequence::create(six_layers(), kPrecise);
    EXPECT_EQ((*executor)->prefill(*sequence, request).status().code(), Code::InvalidArgument);
}

TEST(StagedPrefillViews, HeadsAverageToRowsAndHiddenStatesFollowTheMode) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {70});
    std::vector<PrefillStage> stages = stages_at(prompt, {2});
    stages[0].needs = {.rows = StageNeeds::Rows::Probabilities};
    stages[0].reference = {prompt.question().front(), 82};
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages};
    std::vector<float> rows;
    request.selector = [&](const StageView& view) -> Result<StageChoice> {
        rows.assign(view.seen.rows.values().begin(), view.seen.rows.values().end());
        return StageChoice{{0, 1}, {}};
    };
    run(request);
    stages[0].needs = {.rows = StageNeeds::Rows::PerHead,
                       .key_norms = true,
                       .hidden = StageNeeds::Hidden::FinalNorm,
                       .text = true};
    std::vector<float> means(rows.size());
    request.selector = [&](const StageView& view) -> Result<StageChoice> {
        EXPECT_EQ(view.seen.rotation_bias.values().size(), rows.size());
        EXPECT_EQ(view.text.key_norms.values().size(), 8U);
        EXPECT_EQ(view.text.hidden.values().size(), 8U * 64);
        EXPECT_EQ(view.seen.hidden.values().size(), 70U * 64);
        const std::span<const float> heads = view.seen.rows.values();
        const std::size_t n_heads = heads.size() / rows.size();
        EXPECT_GT(n_heads, 1U);
        for (std::size_t i = 0; i < heads.size(); ++i) {
            means[i % rows.size()] += heads[i] / static_cast<float>(n_heads);
        }
        return StageChoice{{0, 1}, {}};
    };
    run(request);
    EXPECT_LT(test::relative_distance(means, rows), kTight);

    // What leaves a block is what enters the next.
    std::vector<std::vector<float>> hidden;
    const auto look = [&](std::int32_t layer, StageMode mode) {
        stages[0] = {.layer = layer, .mode = mode, .needs = {.hidden = StageNeeds::Hidden::Raw}};
        request.selector = [&](const StageView& view) -> Result<StageChoice> {
            hidden.emplace_back(view.seen.hidden.values().begin(), view.seen.hidden.values().end());
            return StageChoice{{0, 1}, {}};
        };
        run(request);
    };
    look(2, StageMode::After);
    look(3, StageMode::Before);
    EXPECT_EQ(hidden[0], hidden[1]);
}

TEST(StagedPrefillMemory, ReservesWhatEachLayerNeeds) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {90});
    const std::vector<PrefillStage> stages = stages_at(prompt, {1, 2, 4});
    PrefillRequest request = {.parts = prompt.parts(), .stages = stages, .room = 7};
    request.selector = fixed({{1, 2, 3, 4, 5, 6}, {2, 3, 5}, {3}});
    auto executor = Executor::create(six_layers());
    auto sequence = Sequence::create(six_layers());
    const auto result = (*executor)->prefill(*sequence, request);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const std::vector<std::int32_t> rows = {103, 19, 16, 16, 14, 14};
    EXPECT_EQ(result->rows_per_layer, rows);
    EXPECT_EQ(result->visual_per_layer, (std::vector<std::int32_t>{90, 6, 3, 3, 1, 1}));
    std::size_t expected = 0;
    for (std::size_t layer = 0; layer < rows.size(); ++layer) {
        const KvLayer& kv = sequence->kv().layer(layer);
        EXPECT_EQ(kv.used, rows[layer]);
        EXPECT_EQ(kv.capacity, rows[layer] + 7);
        expected += 2 * ggml_nbytes(kv.keys);
        EXPECT_EQ(ggml_nbytes(kv.keys), static_cast<std::size_t>(rows[layer] + 7) * 32 * sizeof(ggml_fp16_t));
    }
    EXPECT_EQ(result->kv_bytes, expected);
    EXPECT_EQ(sequence->kv().bytes(), expected);
}

TEST(StagedPrefillErrors, AreSaid) {
    const DecoderCase prompt(*six_layers(), {5, 8}, {70});
    auto executor = Executor::create(six_layers());
    auto sequence = Sequence::create(six_layers());
    const auto code = [&](const PrefillRequest& request) {
        return (*executor)->prefill(*sequence, request).status().code();
    };
    const std::vector<PrefillStage> one = stages_at(prompt, {2});
    const StageSelector keep_two = fixed({{1, 2}});
    PrefillRequest good = {.parts = prompt.parts(), .stages = one, .selector = keep_two};
    EXPECT_EQ(code(good), Code::Ok);

    PrefillRequest bad = good;
    bad.parts = {};
    EXPECT_EQ(code(bad), Code::InvalidArgument);
    bad = good;
    bad.selector = nullptr;
    EXPECT_EQ(code(bad), Code::InvalidArgument);
    const auto code_with = [&](const std::vector<std::int32_t>& reference, std::vector<PrefillStage> stages) {
        stages.back().reference = reference;
        PrefillRequest request = good;
        request.stages = stages;
        return code(request);
    };
    EXPECT_EQ(code_with({}, one), Code::InvalidArgument);
    EXPECT_EQ(code_with({10}, one), Code::Ok);
    EXPECT_EQ(code_with({10}, stages_at(prompt, {2, 3})), Code::InvalidArgument);  // it may be dropped before
    EXPECT_EQ(code_with({5 + 70 + 8}, one), Code::InvalidArgument);
    for (const std::vector<std::int32_t>& layers : {std::vector<std::int32_t>{6}, {-1}, {2, 2}, {3, 1}}) {
        const std::vector<PrefillStage> stages = stages_at(prompt, layers);
        bad = good;
        bad.stages = stages;
        EXPECT_EQ(code(bad), Code::InvalidArgument);
    }
    const std::vector<PrefillStage> last_after = stages_at(prompt, {5}, StageMode::After);
    bad = good;
    bad.stages = last_after;
    EXPECT_EQ(code(bad), Code::InvalidArgument);
    for (const StageChoice& choice :
         {StageChoice{{2, 1}, {}}, StageChoice{{70}, {}}, StageChoice{{1, 1}, {}}, StageChoice{{1}, {0.0F}},
          StageChoice{{1}, {NAN}}, StageChoice{{1, 2}, {1.0F}}}) {
        bad = good;
        bad.selector = [&](const StageView&) -> Result<StageChoice> { return choice; };
        EXPECT_EQ(code(bad), Code::InvalidArgument);
    }
    bad = good;
    bad.selector = [](const StageView&) -> Result<StageChoice> { return Status(Code::Deadline, "late"); };
    EXPECT_EQ(code(bad), Code::Deadline);

    std::vector<float> image(64 * 2, 1.0F);
    image[70] = INFINITY;
    const std::vector<PromptPart> infinite = {{.embeddings = image}};
    EXPECT_EQ(code({.parts = infinite}), Code::InvalidArgument);
    const std::vector<PromptPart> ragged = {{.embeddings = std::span(image).first(60)}};
    EXPECT_EQ(code({.parts = ragged}), Code::InvalidArgument);
    const std::vector<std::int32_t> unknown = {1, 400};
    const std::vector<PromptPart> strange = {{.tokens = unknown}};
    EXPECT_EQ(code({.parts = strange}), Code::InvalidArgument);
    EXPECT_EQ(code(good), Code::Ok);
}

TEST(StagedPrefillThreads, SessionsOverOneModelDoNotDisturbEachOther) {
    const DecoderCase first(*six_layers(), {5, 8}, {90}, 1);
    const DecoderCase second(*six_layers(), {3, 9}, {70}, 2);
    const auto logits = [&](const DecoderCase& prompt) {
        const std::vector<PrefillStage> stages = stages_at(prompt, {1, 3});
        CoreSelector core(prompt, 64, {40, 10}, true);
        auto executor = Executor::create(six_layers());
        auto sequence = Sequence::create(six_layers());
        const auto result = (*executor)->prefill(
            *sequence, {.parts = prompt.parts(), .stages = stages, .selector = core.selector(), .room = 4});
        std::vector<float> all = result->logits;
        for (std::int32_t token = 10; token < 14; ++token) {
            const auto next = (*executor)->step(*sequence, token);
            all.insert(all.end(), next->begin(), next->end());
        }
        return all;
    };
    const std::vector<float> alone_first = logits(first);
    const std::vector<float> alone_second = logits(second);
    std::vector<float> together_first;
    std::vector<float> together_second;
    std::thread a([&] { together_first = logits(first); });
    std::thread b([&] { together_second = logits(second); });
    a.join();
    b.join();
    EXPECT_EQ(together_first, alone_first);
    EXPECT_EQ(together_second, alone_second);
}

}  // namespace
}  // namespace clasp::engine
