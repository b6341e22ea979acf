// What holds for every family whatever is pruned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "clasp/conversation.h"
#include "clasp/select.h"
#include "family_fixture.h"
#include "support/decoder_case.h"
#include "support/entering_prompt.h"
#include "support/reference_decoder.h"
#include "support/session.h"

namespace clasp {
namespace {

using test::EnteringPrompt;

class FamilyProperties : public FamilyTest {};

TEST_P(FamilyProperties, APictureBecomesItsTokens) {
    AskRequest vanilla = question();
    vanilla.vanilla = true;
    const Answer answer = ask(vanilla);
    EXPECT_EQ(answer.tokens.visual, family().n_tokens);
    EXPECT_EQ(answer.tokens.entering, family().n_tokens + family().n_fixed);
    EXPECT_EQ(answer.layouts[0].n_fixed, family().n_fixed);
}

TEST_P(FamilyProperties, KeepingEverythingIsNoMethodBitForBit) {
    for (const Compat compat : {Compat::Original, Compat::LlamaCpp}) {
        if (compat == Compat::LlamaCpp && !family().is_in_llama_cpp) continue;
        for (const bool fusion : {false, true}) {
            AskRequest none = question();
            none.compat = compat;
            none.use_fusion = fusion;
            none.budget = {BudgetSpec::Kind::None, 0};
            const Answer without = ask(none);
            ASSERT_FALSE(without.logits.empty());
            for (const std::string method : {"clasp", "clasp+", "fastv"}) {
                AskRequest all = none;
                all.budget = {};
                all.method = method;
                all.forced_stages = {{1, 200}, {3, 200}};
                EXPECT_EQ(ask(all).logits, without.logits) << method;
            }
            AskRequest vanilla = question();
            vanilla.compat = compat;
            vanilla.vanilla = true;
            // What libmtmd encodes has one layer.
            if (!fusion || family().needs_libmtmd) {
                EXPECT_EQ(ask(vanilla).logits, without.logits);
            } else {
                EXPECT_NE(ask(vanilla).logits, without.logits);
            }
        }
    }
}

// Where llama.cpp has no numbers, asking for them ends in a sentence.
TEST_P(FamilyProperties, LlamaCppsNumbersAreThereOrRefused) {
    AskRequest asked = question();
    asked.compat = Compat::LlamaCpp;
    const auto answer = engine().ask(asked);
    EXPECT_EQ(answer.ok(), family().is_in_llama_cpp) << answer.status().message();
    if (answer.ok()) return;
    EXPECT_EQ(answer.status().code(), Code::Unsupported);
    EXPECT_THAT(answer.status().message(), testing::HasSubstr("llama.cpp does not know"));
}

// ---- Dropping, in prompts of two pictures ----

constexpr std::size_t kLayers = 8;

class DroppingCase {
   public:
    DroppingCase(const test::FamilyFiles& files, const test::FamilyModel& model)
        : entering(test::enter_prompt(files.text(), files.vision(),
                                      {test::picture(1, model.picture), test::picture(2, 64, 30)},
                                      "how many cups")) {
        for (TokenIndex i = 0; i < entering.n_visual; i += 3) thirds.push_back(i);
        few = {thirds[0], thirds[3], thirds[4], thirds.back()};
        for (const std::int32_t layer : {1, 4}) {
            stages.push_back({.layer = layer, .reference = entering.question});
        }
    }

    // Keeps a third, then four of them.
    [[nodiscard]] engine::PrefillRequest request(const std::vector<std::vector<float>>& masses = {}) const {
        engine::PrefillRequest wanted = {.parts = entering.parts, .stages = stages};
        wanted.selector = [this, masses](const engine::StageView& view) -> Result<engine::StageChoice> {
            return engine::StageChoice{view.stage == 0 ? thirds : few,
                                       masses.empty() ? std::vector<float>() : masses[view.stage]};
        };
        return wanted;
    }
    [[nodiscard]] std::vector<float> logits(const engine::PrefillRequest& request) const {
        test::Session session(entering.text, {.kv_type = GGML_TYPE_F32});
        const auto result = session.prefill(request);
        EXPECT_TRUE(result.ok()) << result.status().message();
        return result.ok() ? result->logits : std::vector<float>();
    }

    EnteringPrompt entering;
    std::vector<TokenIndex> thirds;
    std::vector<TokenIndex> few;
    std::vector<engine::PrefillStage> stages;
};

// GELU goes through a table in half precision.
double tolerance_of(const test::FamilyModel& family) {
    return family.text.architecture == "gemma3" ? 5e-3 : 1e-4;
}

// Plain loops in which a token that was dropped stays where it is and is seen by nobody, and the line break
// of a row without tokens with it.
TEST_P(FamilyProperties, DroppingATokenIsHidingItFromThenOn) {
    const DroppingCase dropping(files(), family());
    const test::ReferenceDecoder reference(*dropping.entering.text);
    const auto masked = reference.run(dropping.request(), test::Dropping::Mask).logits;
    EXPECT_LT(test::relative_distance(dropping.logits(dropping.request()), masked), tolerance_of(family()));
    const auto whole = dropping.logits({.parts = dropping.entering.parts});
    EXPECT_GT(test::relative_distance(whole, masked), 1e-2) << "something was lost";
    const std::vector<std::vector<float>> masses = {std::vector<float>(dropping.thirds.size(), 3.0F),
                                                    {20, 30, 10, 5}};
    // The logarithm of a mass travels in half precision.
    EXPECT_LT(test::relative_distance(dropping.logits(dropping.request(masses)),
                                      reference.run(dropping.request(masses)).logits),
              5e-3);
}

// Of every row in every layer, in all planes by the numbers that they turn keys by.
TEST_P(FamilyProperties, PositionsOfSurvivorsStay) {
    const DroppingCase dropping(files(), family());
    test::Session whole(dropping.entering.text, {.kv_type = GGML_TYPE_F32});
    ASSERT_TRUE(whole.prefill({.parts = dropping.entering.parts}).ok());
    test::Session pruned(dropping.entering.text, {.kv_type = GGML_TYPE_F32});
    ASSERT_TRUE(pruned.prefill(dropping.request()).ok());
    EXPECT_EQ(pruned.sequence().next_position(), whole.sequence().next_position());
    std::vector<std::int32_t> entered;
    for (const engine::MaskRow& row : whole.sequence().groups().front().keys) entered.push_back(row.position);
    for (const engine::LayerGroup& group : pruned.sequence().groups()) {
        EXPECT_EQ(group.next_position, whole.sequence().next_position());
        std::vector<std::int32_t> left;
        for (const engine::MaskRow& row : group.keys) left.push_back(row.position);
        EXPECT_TRUE(std::includes(entered.begin(), entered.end(), left.begin(), left.end()));
    }
    EXPECT_LT(pruned.sequence().groups().back().keys.size(), entered.size());
    const test::ReferenceDecoder reference(*dropping.entering.text);
    const auto kept = reference.run(dropping.request(), test::Dropping::Mask).logits;
    EXPECT_LT(test::relative_distance(dropping.logits(dropping.request()), kept), tolerance_of(family()));
    engine::PrefillRequest compact = dropping.request();
    compact.positions = engine::PositionMode::Compact;
    EXPECT_GT(test::relative_distance(dropping.logits(compact), kept), 1e-2) << "positions matter";
}

// ---- Masses ----

// The same parts with every row of a picture twice, at the same position.
struct DoubledPrompt {
    explicit DoubledPrompt(const EnteringPrompt& entering)
        : width(static_cast<std::size_t>(entering.text->config().width)) {
        TokenIndex next = 0;
        for (const engine::PromptPart& part : entering.parts) {
            parts.push_back({.tokens = part.tokens, .is_text_of_image = part.is_text_of_image});
            if (part.embeddings.empty()) continue;
            const std::size_t n = part.embeddings.size() / width;
            Rows& rows = own.emplace_back();
            for (int copy = 0; copy < 2; ++copy) {
                rows.values.insert(rows.values.end(), part.embeddings.begin(), part.embeddings.end());
                rows.lines.insert(rows.lines.end(), part.lines.begin(), part.lines.end());
                rows.is_carried.insert(rows.is_carried.end(), part.is_carried.begin(), part.is_carried.end());
                for (std::size_t i = 0; i < n; ++i) {
                    rows.offsets.push_back(part.offsets.empty()
                                               ? model::text_position(static_cast<std::int32_t>(i))
                                               : part.offsets[i]);
                    if (!part.is_carried.empty() && part.is_carried[i] != 0) continue;
                    if (copy == 0) originals.push_back(next);
                    ++next;
                    const auto row = part.embeddings.subspan(i * width, width);
                    tokens.insert(tokens.end(), row.begin(), row.end());
                }
            }
            engine::PromptPart& twice = parts.back();
            twice.embeddings = rows.values;
            twice.lines = rows.lines;
            twice.is_carried = rows.is_carried;
            twice.offsets = rows.offsets;
            twice.n_positions = part.offsets.empty() ? static_cast<std::int32_t>(n) : part.n_positions;
        }
    }

    struct Rows {
        std::vector<float> values;
        std::vector<std::int32_t> lines;
        std::vector<std::uint8_t> is_carried;
        std::vector<model::Position> offsets;
    };
    std::size_t width;
    std::deque<Rows> own;
    std::vector<engine::PromptPart> parts;
    std::vector<TokenIndex> originals;  // visual indices of the first copies
    std::vector<float> tokens;          // all visual tokens, row by row
};

// A token and its copy at the same place: the copy dropped, the token with the mass of both does the work of
// both, where one block looks at them.
TEST_P(FamilyProperties, MassesAreExactForCopies) {
    test::RandomLlama one_block = family().text;
    one_block.n_layers = 1;
    one_block.n_deepstack = 0;                                              // nothing comes after it
    if (one_block.window > 0) one_block.window = one_block.context_length;  // the last token sees all
    const test::FamilyFiles one("one-" + family().name, one_block, family().vision);
    const EnteringPrompt entering = test::enter_prompt(one.text(), one.vision(), {picture_}, "how many cups");
    const DoubledPrompt doubled(entering);
    const std::size_t n = 2 * family().n_tokens;
    ASSERT_EQ(doubled.tokens.size(), n * doubled.width);
    std::vector<float> cosines(n * n);
    SelectWorkspace workspace;
    ASSERT_TRUE(
        gram({doubled.tokens.data(), n, doubled.width, doubled.width}, workspace, nullptr, cosines.data(), n)
            .ok());
    std::vector<TokenIndex> live(n);
    std::iota(live.begin(), live.end(), TokenIndex{0});
    std::vector<float> masses(n, 1.0F);
    ASSERT_TRUE(assign_masses({cosines.data(), n, n}, live, doubled.originals, masses).ok());
    std::vector<float> of_kept;
    for (const TokenIndex token : doubled.originals) of_kept.push_back(masses[token]);
    EXPECT_EQ(of_kept, std::vector<float>(family().n_tokens, 2.0F));

    const std::vector<engine::PrefillStage> stages = {{.layer = 0}};
    const auto run = [&](bool drops, const std::vector<float>& kept_masses) {
        test::Session session(entering.text, {.kv_type = GGML_TYPE_F32});
        engine::PrefillRequest request = {.parts = doubled.parts};
        if (drops) request.stages = stages;
        request.selector = [&](const engine::StageView&) -> Result<engine::StageChoice> {
            return engine::StageChoice{doubled.originals, kept_masses};
        };
        const auto result = session.prefill(request);
        EXPECT_TRUE(result.ok()) << result.status().message();
        return result.ok() ? result->logits : std::vector<float>();
    };
    const auto whole = run(false, {});
    // The logarithm of a mass travels in half precision.
    EXPECT_LT(test::relative_distance(run(true, of_kept), whole), 2e-3);
    EXPECT_GT(test::relative_distance(run(true, {}), whole), 1e-2);
}

// ---- Several at a time ----

// A token of three conversations in one graph: unpruned, pruned, pruned with masses.
TEST_P(FamilyProperties, BatchedEqualsAlone) {
    const DroppingCase dropping(files(), family());
    auto made = engine::Executor::create(dropping.entering.text);
    ASSERT_TRUE(made.ok());
    engine::Executor& executor = **made;
    const std::vector<std::vector<float>> masses = {std::vector<float>(dropping.thirds.size(), 3.0F),
                                                    {20, 30, 10, 5}};
    std::vector<engine::Sequence> batched;
    std::vector<engine::Sequence> single;
    for (engine::PrefillRequest request : {engine::PrefillRequest{.parts = dropping.entering.parts},
                                           dropping.request(), dropping.request(masses)}) {
        request.room = 8;
        auto sequence = engine::Sequence::create(dropping.entering.text, {.kv_type = GGML_TYPE_F32});
        const auto result = executor.prefill(*sequence, request);
        ASSERT_TRUE(result.ok()) << result.status().message();
        auto fork = sequence->fork();
        ASSERT_TRUE(fork.ok());
        single.push_back(std::move(fork).value());
        batched.push_back(std::move(*sequence));
    }
    std::vector<std::int32_t> tokens = {10, 11, 12};
    for (int step = 0; step < 4; ++step) {
        std::vector<engine::NextToken> batch;
        for (std::size_t i = 0; i < batched.size(); ++i) batch.push_back({&batched[i], tokens[i]});
        const auto rows = executor.step(batch);
        ASSERT_TRUE(rows.ok()) << rows.status().message();
        std::vector<std::vector<float>> together;
        for (std::size_t i = 0; i < batched.size(); ++i)
            together.emplace_back((*rows)[i].begin(), (*rows)[i].end());
        for (std::size_t i = 0; i < single.size(); ++i) {
            const auto row = executor.step(single[i], tokens[i]);
            ASSERT_TRUE(row.ok()) << row.status().message();
            const std::vector<float> alone(row->begin(), row->end());
            // ggml has other kernels for several rows than for one.
            EXPECT_LT(test::relative_distance(together[i], alone), 3e-3) << i << ", step " << step;
            tokens[i] = test::argmax(alone);
            EXPECT_EQ(test::argmax(together[i]), tokens[i]);
            EXPECT_EQ(batched[i].next_position(), single[i].next_position());
        }
    }
}

// ---- Whole requests ----

TEST_P(FamilyProperties, StagesKeepWhatTheyAreTold) {
    AskRequest vanilla = question();
    vanilla.vanilla = true;
    const Answer whole = ask(vanilla);
    for (const std::string method : {"clasp", "clasp+", "random", "attention", "uniform"}) {
        SCOPED_TRACE(method);
        AskRequest pruned = question();
        pruned.method = method;
        pruned.use_fusion = false;
        pruned.generation.max_tokens = 1;
        pruned.forced_stages = {{1, 20}, {3, 7}};
        const Answer answer = ask(pruned);
        ASSERT_EQ(answer.stages.size(), 2U);
        const std::vector<TokenIndex>& first = answer.stages[0].kept;
        const std::vector<TokenIndex>& second = answer.stages[1].kept;
        EXPECT_EQ(first.size(), 20U);
        EXPECT_EQ(second.size(), 7U);
        EXPECT_LT(first.back(), family().n_tokens);
        EXPECT_TRUE(std::includes(first.begin(), first.end(), second.begin(), second.end()));
        EXPECT_GE(answer.tokens.final, 7U);
        EXPECT_LE(answer.tokens.final, 7U + family().n_fixed);
        if (family().n_fixed == 0) {
            EXPECT_DOUBLE_EQ(answer.tokens.average,
                             static_cast<double>(family().n_tokens + 2 * 20 + (kLayers - 3) * 7) / kLayers);
        }
        EXPECT_NE(answer.logits, whole.logits);
    }
}

TEST_P(FamilyProperties, PicturesOfDifferentShapesShareARequest) {
    AskRequest all = question();
    const std::string tall = test::picture(2, 40, 130);
    const std::string small = test::picture(3, 20, 20);
    all.images = {{{}, picture_}, {{}, tall}, {{}, small}};
    all.method = "clasp";
    all.forced_stages = {{2, 24}};
    const Answer answer = ask(all);
    ASSERT_EQ(answer.layouts.size(), 3U);
    std::size_t n_rows = 0;
    for (const ImageLayout& layout : answer.layouts) n_rows += layout.n_tokens() + layout.n_fixed;
    EXPECT_EQ(answer.tokens.entering, n_rows);
    EXPECT_EQ(answer.stages[0].kept.size(), 24U);
    // Another order is another question.
    AskRequest turned = all;
    std::swap(turned.images[0], turned.images[2]);
    EXPECT_NE(ask(turned).logits, answer.logits);
}

// What is remembered of a picture, in a further question and in the same one again, changes no number.
TEST_P(FamilyProperties, AFollowUpQuestionIsTheSameHistoryInOneRequest) {
    const std::unique_ptr<Engine> remembers = files().load({.cached_images = 2});
    Conversation conversation(*remembers);
    AskRequest first = question();
    first.method = "clasp";
    first.forced_stages = {{2, 12}};
    const auto one = conversation.ask(first);
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ(one->logits, ask(first).logits);
    EXPECT_EQ(test::answer_of(*remembers, first).logits, one->logits);
    AskRequest second = first;
    second.images.clear();
    second.question = "and what colour are they";
    const auto two = conversation.ask(second);
    ASSERT_TRUE(two.ok()) << two.status().message();
    EXPECT_EQ(two->cache_hit, true);
    EXPECT_EQ(two->tokens.visual, family().n_tokens);
    EXPECT_EQ(two->stages[0].kept.size(), 12U);
    AskRequest whole = second;
    whole.history = {
        {Message::Role::User, {{.text = {}, .image = ImageSource{{}, picture_}}, {.text = first.question}}},
        {Message::Role::Assistant, {{.text = one->text}}}};
    EXPECT_EQ(ask(whole).logits, two->logits);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyProperties, testing::ValuesIn(test::family_names()),
                         family_case_name);

}  // namespace
}  // namespace clasp
