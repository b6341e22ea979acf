// A prompt that begins like one before computes less and gives the same bits.
#include "engine/prompt_start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/executor.h"
#include "engine/prompt_memory.h"
#include "support/sequence_case.h"

namespace clasp::engine {
namespace {

using test::Pruning;
using test::SequenceCase;

constexpr std::size_t kPrefix = 5;  // of SequenceCase

std::shared_ptr<const model::TextModel> model_of_starts() {
    static const auto model = test::load_random_llama("prompt_start", {.n_layers = 6});
    return model;
}

// What a prompt gives, and what its cells give behind it.
struct Outcome {
    std::vector<float> logits;
    std::vector<float> next;
    std::vector<std::vector<TokenIndex>> kept;
    std::size_t n_prefix = 0;
    std::size_t n_front = 0;
};

// A prompt like that of the case, with other words at its end.
class Asked {
   public:
    Asked(const SequenceCase& of, std::size_t n_words, std::int32_t first_word) : request_(of.request()) {
        parts_ = of.prompt().parts();
        for (std::size_t i = 0; i < n_words; ++i)
            words_.push_back(first_word + static_cast<std::int32_t>(i % 50));
        parts_.back() = {.tokens = words_};
        stages_.assign(request_.stages.begin(), request_.stages.end());
        const auto n_before = static_cast<std::int32_t>(of.prompt().n_rows() - 8);
        for (PrefillStage& stage : stages_) {
            stage.reference = {n_before, n_before + static_cast<std::int32_t>(n_words) - 1};
        }
        request_.parts = parts_;
        request_.stages = stages_;
    }
    // Chooses by what it sees, so that a wrong score shows.
    Outcome run(Executor& executor, StartStore* store, std::size_t n_layers = 100) {
        Outcome outcome;
        PrefillRequest request = request_;
        request.starts = store;
        const StageSelector rule = request_.selector;
        request.selector = [&](const StageView& view) {
            auto choice = rule(view);
            const auto scores = view.seen.scores.values();
            std::size_t best = 0;
            for (std::size_t i = 1; i < scores.size(); ++i) best = scores[i] > scores[best] ? i : best;
            if (!std::binary_search(choice->kept.begin(), choice->kept.end(), view.live[best])) {
                choice->kept.push_back(view.live[best]);
                std::sort(choice->kept.begin(), choice->kept.end());
                if (!choice->masses.empty()) choice->masses.push_back(2.0F);
            }
            outcome.kept.push_back(choice->kept);
            return choice;
        };
        auto sequence = Sequence::create(model_of_starts());
        auto run = executor.start(*sequence, request);
        EXPECT_TRUE(run.ok()) << run.status().message();
        while (run.ok() && !(*run)->is_done()) {
            const Status status = (*run)->advance(n_layers);
            EXPECT_TRUE(status.ok()) << status.message();
            if (!status.ok()) return outcome;
        }
        PrefillResult result = (*run)->take_result();
        outcome.logits = result.logits;
        outcome.n_prefix = result.n_prefix_found;
        outcome.n_front = result.n_front_found;
        const auto next = executor.step(*sequence, 9);
        EXPECT_TRUE(next.ok());
        outcome.next.assign(next->begin(), next->end());
        return outcome;
    }

   private:
    PrefillRequest request_;
    std::vector<PromptPart> parts_;
    std::vector<std::int32_t> words_;
    std::vector<PrefillStage> stages_;
};

void expect_same(const Outcome& found, const Outcome& expected, const std::string& what) {
    EXPECT_EQ(found.logits, expected.logits) << what;
    EXPECT_EQ(found.next, expected.next) << what;
    EXPECT_EQ(found.kept, expected.kept) << what;
}

struct StartCase {
    std::string name;
    Pruning pruning;
    StageMode mode;
};

class PromptStarts : public testing::TestWithParam<StartCase> {};

// Long and short pictures: attention has another precision below 64 rows.
TEST_P(PromptStarts, ChangeNoBit) {
    for (const std::int32_t batch_rows : {2048, 70}) {
        for (const std::size_t n_image : {90U, 40U, 9U}) {
            auto executor = Executor::create(model_of_starts(), {.batch_rows = batch_rows});
            const SequenceCase of(
                *model_of_starts(),
                {.n_image = n_image, .pruning = GetParam().pruning, .mode = GetParam().mode});
            PromptMemory memory(std::size_t{64} << 20U);
            for (const std::size_t n_words : {8U, 1U, 3U, 70U, 20U}) {
                const std::string what = std::to_string(batch_rows) + " rows, image of " +
                                         std::to_string(n_image) + ", " + std::to_string(n_words) + " words";
                Asked asked(of, n_words, 20);
                const Outcome expected = asked.run(**executor, nullptr);
                expect_same(asked.run(**executor, &memory), expected, what);
                const Outcome again = asked.run(**executor, &memory, 1);
                expect_same(again, expected, what + ", again");
                EXPECT_EQ(again.n_front, kPrefix + n_image) << what;
                EXPECT_GE(again.n_prefix, kPrefix) << what;
            }
            // Another picture after the same text.
            const SequenceCase other(
                *model_of_starts(),
                {.n_image = n_image + 3, .pruning = GetParam().pruning, .mode = GetParam().mode});
            Asked asked(other, 8, 30);
            const Outcome expected = asked.run(**executor, nullptr);
            const Outcome found = asked.run(**executor, &memory);
            expect_same(found, expected, "another picture");
            EXPECT_EQ(found.n_front, 0U);
            EXPECT_EQ(found.n_prefix, kPrefix);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, PromptStarts,
                         testing::Values(StartCase{"unpruned", Pruning::None, StageMode::Before},
                                         StartCase{"plain", Pruning::Plain, StageMode::Before},
                                         StartCase{"after", Pruning::Plain, StageMode::After},
                                         StartCase{"masses", Pruning::WithMasses, StageMode::Before},
                                         StartCase{"compact", Pruning::Compact, StageMode::Before}),
                         [](const auto& made) { return made.param.name; });

TEST(PromptStart, AStoreThatGivesWhatDoesNotFitIsNotBelieved) {
    class Wrong : public StartStore {
       public:
        [[nodiscard]] bool keeps(StartPart /*part*/) const override { return true; }
        SharedStart find(StartPart /*part*/, const std::string& /*key*/) override { return start; }
        void keep(StartPart /*part*/, const std::string& /*key*/, SharedStart /*start*/) override {
            ++n_kept;
        }
        std::shared_ptr<PromptStart> start = std::make_shared<PromptStart>();
        int n_kept = 0;
    } wrong;
    auto executor = Executor::create(model_of_starts());
    const SequenceCase of(*model_of_starts(), {.n_image = 90, .pruning = Pruning::Plain});
    Asked asked(of, 8, 20);
    const Outcome expected = asked.run(**executor, nullptr);
    expect_same(asked.run(**executor, &wrong), expected, "nothing");
    EXPECT_EQ(wrong.n_kept, 2);
    wrong.start->n_rows = kPrefix + 90;
    wrong.start->layers.resize(1);
    expect_same(asked.run(**executor, &wrong), expected, "no cells");
    wrong.start->n_rows = kPrefix;
    wrong.start->layers.resize(6);
    expect_same(asked.run(**executor, &wrong), expected, "no cells of a prefix");
}

TEST(PromptStart, KeysTellEverythingApart) {
    const std::vector<std::int32_t> tokens = {1, 2, 3};
    const std::string key = prefix_key(tokens, {});
    EXPECT_EQ(key.size(), 64U);
    EXPECT_EQ(prefix_key(tokens, {}), key);
    EXPECT_NE(prefix_key(std::vector<std::int32_t>{1, 2}, {}), key);
    EXPECT_NE(prefix_key(tokens, {.kv_type = 1}), key);
    EXPECT_NE(prefix_key(tokens, {.rope = 1}), key);
    EXPECT_NE(prefix_key(tokens, {.n_layers = 1}), key);

    // The same floats in one row of 4 and in two of 2, at other positions, with other masses.
    const std::vector<float> values = {1, 2, 3, 4};
    std::vector<PromptPart> parts = {{.tokens = tokens}, {.embeddings = values}};
    std::vector<LiveRow> rows(4);
    const std::string front = front_key(parts, rows, {});
    rows[3].position = model::text_position(3);
    EXPECT_NE(front_key(parts, rows, {}), front);
    rows[3].position = {};
    rows[3].mass = 2.0F;
    EXPECT_NE(front_key(parts, rows, {}), front);
    rows[3].mass = 1.0F;
    EXPECT_EQ(front_key(parts, rows, {}), front);
    rows.pop_back();
    EXPECT_NE(front_key(parts, rows, {}), front);
    rows.emplace_back();
    parts = {{.tokens = tokens},
             {.embeddings = std::span(values).first(2)},
             {.embeddings = std::span(values).last(2)}};
    EXPECT_NE(front_key(parts, rows, {}), front);
}

TEST(PromptMemory, LetsTheLeastRecentlyUsedGo) {
    const auto start_of = [](std::size_t n_bytes) {
        auto start = std::make_shared<PromptStart>();
        start->layers.resize(1);
        start->layers[0].keys.resize(n_bytes);
        return start;
    };
    PromptMemory memory(100);
    memory.keep(StartPart::Front, "a", start_of(40));
    memory.keep(StartPart::Front, "b", start_of(40));
    EXPECT_NE(memory.find(StartPart::Front, "a"), nullptr);
    memory.keep(StartPart::Front, "c", start_of(40));
    EXPECT_EQ(memory.find(StartPart::Front, "b"), nullptr);
    EXPECT_NE(memory.find(StartPart::Front, "a"), nullptr);
    EXPECT_NE(memory.find(StartPart::Front, "c"), nullptr);
    EXPECT_EQ(memory.bytes(), 80U);
    memory.keep(StartPart::Front, "a", start_of(50));  // takes the other's place
    EXPECT_EQ(memory.bytes(), 90U);
    memory.keep(StartPart::Front, "d", start_of(101));
    EXPECT_EQ(memory.find(StartPart::Front, "d"), nullptr) << "more than there is room for";
    EXPECT_EQ(memory.bytes(), 90U);
}

}  // namespace
}  // namespace clasp::engine
