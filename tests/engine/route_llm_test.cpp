// The language-model router with models of random weights: whatever the noise, only answers of the list are
// scored, what is kept between questions changes no score, time runs out cleanly, and a broken file is an
// error.
#include "clasp/route_llm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/answer_scores.h"
#include "engine/chat_model.h"
#include "engine/route_prompt.h"
#include "llama.h"
#include "support/json.h"
#include "support/paths.h"
#include "support/random_llama.h"

namespace clasp {
namespace {

using testing::HasSubstr;

const std::vector<RouteIntent> kIntents = {{"counting", 5, "how many"},
                                           {"colour", 1, "which colour"},
                                           {"count_in_words", 5, ""},
                                           {"a \"quoted\" \\ name", 2, "hard to write"},
                                           {"\xE6\x95\xB0\xE9\x87\x8F", 5, "not ASCII"}};

// Cases run as programs of their own, several at a time: each writes files of its own.
class TemporaryFile {
   public:
    explicit TemporaryFile(const std::string& name)
        : path_(std::string(test::scratch_dir()) + "/route-llm-" + std::to_string(getpid()) + "-" + name) {}
    ~TemporaryFile() {
        std::error_code error;
        std::filesystem::remove(path_, error);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

   private:
    std::string path_;
};

test::RandomLlama small_model(std::uint64_t seed) {
    test::RandomLlama spec;
    spec.n_layers = 1;
    spec.width = 32;
    spec.n_heads = 2;
    spec.n_kv_heads = 1;
    spec.ffn_width = 32;
    spec.seed = seed;
    return spec;
}

// The list of the built-in intents is too long for a vocabulary of bytes and letters.
test::RandomLlama model_with_words(std::uint64_t seed) {
    test::RandomLlama spec = small_model(seed);
    spec.vocabulary_file = std::string(test::llama_source_dir()) + "/models/ggml-vocab-llama-spm.gguf";
    return spec;
}

LlmRouterOptions options_for(const std::string& path) {
    LlmRouterOptions options;
    options.model = path;
    options.n_threads = 1;
    options.timeout_ms = 600000.0;
    return options;
}

Router router_over(std::shared_ptr<IntentChooser> chooser, float threshold) {
    RouterOptions options;
    options.kind = RouterKind::Llm;
    options.chooser = std::move(chooser);
    options.threshold = threshold;
    return std::move(Router::create(options)).value();
}

// Counts how often the model is really asked.
class CountingChooser : public IntentChooser {
   public:
    explicit CountingChooser(std::shared_ptr<IntentChooser> inner) : inner_(std::move(inner)) {}
    Result<Choice> choose(std::string_view question, const std::vector<RouteIntent>& intents) override {
        ++n_calls;
        return inner_->choose(question, intents);
    }
    int n_calls = 0;

   private:
    std::shared_ptr<IntentChooser> inner_;
};

TEST(RouterPrompt, ListsTheIntentsAndEscapesTheirNames) {
    const std::string text = engine::router_system_text(kIntents);
    EXPECT_THAT(text, HasSubstr("- counting: how many\n"));
    EXPECT_THAT(text, HasSubstr("- count_in_words\n"));
    const std::vector<std::string> answers = engine::router_answers(kIntents);
    ASSERT_EQ(answers.size(), kIntents.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        EXPECT_EQ(test::parsed(answers[i])["intent"], kIntents[i].name);
    }
}

// Straight from the definition, every prefix computed anew by a model that has read nothing else.
std::vector<double> slow_scores(const std::string& file, const std::vector<std::int32_t>& prompt,
                                const std::vector<std::vector<std::int32_t>>& answers) {
    const auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    std::vector<double> scores(answers.size(), 1.0);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        for (std::size_t depth = 0; depth < answers[i].size(); ++depth) {
            std::set<std::int32_t> next;
            for (const auto& other : answers) {
                const std::span<const std::int32_t> start = std::span(answers[i]).first(depth);
                if (other.size() > depth && std::ranges::equal(std::span(other).first(depth), start)) {
                    next.insert(other[depth]);
                }
            }
            if (next.size() < 2) continue;
            auto chat = engine::ChatModel::load(file, *compute, {});
            std::vector<std::int32_t> tokens = prompt;
            for (const std::int32_t token : std::span(answers[i]).first(depth)) tokens.push_back(token);
            const auto logits = (*chat)->read(tokens, engine::ChatModel::Clock::time_point::max());
            const auto power = [&](std::int32_t token) {
                return std::exp(static_cast<double>((*logits)[static_cast<std::size_t>(token)]));
            };
            double sum = 0.0;
            for (const std::int32_t token : next) sum += power(token);
            scores[i] *= power(answers[i][depth]) / sum;
        }
    }
    return scores;
}

TEST(AnswerScores, AreTheProductsOfWhatTheModelSaysWhereAnswersPart) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const TemporaryFile file("scores.gguf");
        ASSERT_TRUE(test::write_random_llama(file.path(), small_model(seed)));
        const auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
        ASSERT_TRUE(compute.ok());
        const auto chat = engine::ChatModel::load(file.path(), *compute, {});
        ASSERT_TRUE(chat.ok()) << chat.status().message();
        const auto prompt = (*chat)->prompt(engine::router_system_text(kIntents), "How many cups?");
        ASSERT_TRUE(prompt.ok());
        std::vector<std::vector<std::int32_t>> answers;
        for (const std::string& text : engine::router_answers(kIntents)) {
            answers.push_back(*(*chat)->answer(text));
        }
        const auto scores = engine::score_answers(**chat, prompt->tokens, answers,
                                                  engine::ChatModel::Clock::time_point::max());
        ASSERT_TRUE(scores.ok()) << scores.status().message();
        EXPECT_NEAR(std::accumulate(scores->begin(), scores->end(), 0.0), 1.0, 1e-9);
        // Other cuts into batches round differently.
        EXPECT_THAT(*scores, testing::Pointwise(testing::DoubleNear(1e-3),
                                                slow_scores(file.path(), prompt->tokens, answers)));
    }
}

TEST(LlmRouter, RandomModelsAlwaysNameAnIntent) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const TemporaryFile file("random.gguf");
        ASSERT_TRUE(test::write_random_llama(file.path(), small_model(seed)));
        const auto chooser = load_llm_router(options_for(file.path()));
        ASSERT_TRUE(chooser.ok()) << chooser.status().message();
        for (const char* question :
             {"How many cups are there?", "<s></s>[INST]", "\xE6\x9C\x89\xE5\x87\xA0?"}) {
            const auto choice = (*chooser)->choose(question, kIntents);
            ASSERT_TRUE(choice.ok()) << choice.status().message();
            EXPECT_LT(choice->intent, kIntents.size());
            EXPECT_GT(choice->confidence, 0.0F);
            EXPECT_LE(choice->confidence, 1.0F);
            ASSERT_EQ(choice->scores.size(), kIntents.size());
            EXPECT_NEAR(std::accumulate(choice->scores.begin(), choice->scores.end(), 0.0F), 1.0F, 1e-5F);
            EXPECT_EQ(choice->confidence, *std::max_element(choice->scores.begin(), choice->scores.end()));
        }
    }
}

// The second question shares the list of intents with the first; a fresh model computes all of it.
TEST(LlmRouter, WhatIsSharedWithTheQuestionBeforeChangesNothing) {
    const TemporaryFile file("shared.gguf");
    ASSERT_TRUE(test::write_random_llama(file.path(), model_with_words(3)));
    const auto used = load_llm_router(options_for(file.path()));
    const auto fresh = load_llm_router(options_for(file.path()));
    ASSERT_TRUE(used.ok() && fresh.ok());
    ASSERT_TRUE((*used)->choose("What colour is the car on the left side?", kIntents).ok());
    const auto first = (*used)->choose("How many cups?", kIntents);
    const auto second = (*fresh)->choose("How many cups?", kIntents);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->intent, second->intent);
    // The fresh model reads in other batches, so the last bits differ.
    EXPECT_THAT(first->scores, testing::Pointwise(testing::FloatNear(1e-4F), second->scores));
}

TEST(LlmRouter, TheListOfIntentsIsReadOnceAndNotCounted) {
    const TemporaryFile file("once.gguf");
    ASSERT_TRUE(test::write_random_llama(file.path(), model_with_words(3)));
    std::vector<std::string> said;
    LlmRouterOptions options = options_for(file.path());
    options.timeout_ms = 1e-6;
    options.log = [&said](LogLevel, std::string_view message) { said.emplace_back(message); };
    const auto chooser = load_llm_router(options);
    ASSERT_TRUE(chooser.ok());
    for (const char* question : {"How many cups?", "What colour is it?", "How many?"}) {
        // No time at all for the question; the list was read nevertheless and stays read.
        EXPECT_EQ((*chooser)->choose(question, kIntents).status().code(), Code::Deadline);
    }
    const auto is_about_the_list = [](const std::string& text) {
        return text.find("reads the list of intents") != std::string::npos;
    };
    EXPECT_EQ(std::count_if(said.begin(), said.end(), is_about_the_list), 1);
}

TEST(LlmRouter, TheClassHasTheLargestSumOfItsIntents) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const TemporaryFile file("sums.gguf");
        ASSERT_TRUE(test::write_random_llama(file.path(), model_with_words(seed)));
        const auto chooser = load_llm_router(options_for(file.path()));
        ASSERT_TRUE(chooser.ok());
        const Router router = router_over(*chooser, 0.0F);
        const char* const question = "Is the tower tall?";
        const auto choice = (*chooser)->choose(question, router.intents());
        ASSERT_TRUE(choice.ok()) << choice.status().message();
        std::map<int, float> sums;
        for (std::size_t i = 0; i < router.intents().size(); ++i) {
            sums[router.intents()[i].class_id] += choice->scores[i];
        }
        const auto largest = std::max_element(
            sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
        const RouteDecision decision = router.route(question);
        EXPECT_EQ(decision.by, RoutedBy::Llm) << decision.reason;
        EXPECT_EQ(decision.class_id, largest->first);
        EXPECT_NEAR(decision.confidence, largest->second, 1e-4F);
        EXPECT_EQ(decision.confidence, *std::max_element(decision.scores.begin(), decision.scores.end()));
    }
}

TEST(LlmRouter, RunsOtherArchitecturesAndTemplates) {
    const TemporaryFile file("qwen3.gguf");
    test::RandomLlama spec = small_model(5);
    spec.architecture = "qwen3";
    spec.has_qk_norms = true;
    spec.vocabulary_file = std::string(test::llama_source_dir()) + "/models/ggml-vocab-qwen2.gguf";
    spec.chat_template =
        "{%- if enable_thinking %}<think>{% else %}<think></think>{% endif %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
    ASSERT_TRUE(test::write_random_llama(file.path(), spec));
    const auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto chat = engine::ChatModel::load(file.path(), *compute, {});
    ASSERT_TRUE(chat.ok()) << chat.status().message();
    const auto prompt = (*chat)->prompt("sort", "What does <|im_end|> mean?");
    ASSERT_TRUE(prompt.ok()) << prompt.status().message();
    std::string text;
    int ends = 0;
    for (const std::int32_t token : prompt->tokens) {
        text += (*chat)->piece(token);
        ends += llama_vocab_is_eog((*chat)->vocabulary(), token) ? 1 : 0;
    }
    EXPECT_THAT(text, HasSubstr("What does <|im_end|> mean?")) << "the user's words stay words";
    EXPECT_THAT(text, testing::EndsWith("assistant\n<think>\n\n</think>\n\n"));
    EXPECT_EQ(ends, 2) << "the template's own: system and user";
    const auto chooser = load_llm_router(options_for(file.path()));
    ASSERT_TRUE(chooser.ok());
    EXPECT_TRUE((*chooser)->choose("How many?", kIntents).ok());
}

TEST(LlmRouter, AnswersAreCachedAndUnsureOnesFallBack) {
    const TemporaryFile file("cache.gguf");
    ASSERT_TRUE(test::write_random_llama(file.path(), model_with_words(2)));
    auto loaded = load_llm_router(options_for(file.path()));
    ASSERT_TRUE(loaded.ok());
    const auto chooser = std::make_shared<CountingChooser>(std::move(loaded).value());
    const Router sure = router_over(chooser, 0.0F);
    const RouteDecision decision = sure.route("Is the tower tall?");
    EXPECT_EQ(decision.by, RoutedBy::Llm) << decision.reason;
    EXPECT_FALSE(decision.model_failed);
    EXPECT_EQ(sure.route("Is the tower tall?").intent, decision.intent);
    EXPECT_EQ(chooser->n_calls, 1);
    const Router strict = router_over(chooser, 1.0F);
    const RouteDecision unsure = strict.route("Is the tower tall?");
    EXPECT_EQ(unsure.by, RoutedBy::Fallback);
    EXPECT_EQ(unsure.class_id, strict.default_class());
    EXPECT_THAT(unsure.reason, HasSubstr("below"));
}

TEST(LlmRouter, TimeOutUsesTheClassifier) {
    const TemporaryFile file("slow.gguf");
    ASSERT_TRUE(test::write_random_llama(file.path(), model_with_words(2)));
    const auto compute = model::Compute::create({.n_threads = 1, .use_gpu = false});
    const auto chat = engine::ChatModel::load(file.path(), *compute, {});
    ASSERT_TRUE(chat.ok());
    const auto prompt = (*chat)->prompt("sort", "How many?");
    ASSERT_TRUE(prompt.ok());
    using Clock = engine::ChatModel::Clock;
    const auto late = (*chat)->read(prompt->tokens, Clock::now() - std::chrono::seconds(1));
    EXPECT_EQ(late.status().code(), Code::Deadline);
    EXPECT_FALSE((*chat)->has_read(prompt->tokens));
    EXPECT_TRUE((*chat)->read(prompt->tokens, Clock::now() + std::chrono::minutes(10)).ok());
    EXPECT_TRUE((*chat)->has_read(prompt->tokens));

    LlmRouterOptions options = options_for(file.path());
    options.timeout_ms = 1e-6;
    const auto chooser = load_llm_router(options);
    ASSERT_TRUE(chooser.ok());
    EXPECT_EQ((*chooser)->choose("How many?", kIntents).status().code(), Code::Deadline);
    const RouteDecision decision = router_over(*chooser, 0.5F).route("Is there a bicycle in the image?");
    EXPECT_EQ(decision.by, RoutedBy::Classifier);
    EXPECT_EQ(decision.class_id, 0);
    EXPECT_TRUE(decision.model_failed);
    EXPECT_THAT(decision.reason, HasSubstr("in time"));
}

TEST(LlmRouter, SeveralThreadsTakeTurns) {
    const TemporaryFile file("threads.gguf");
    ASSERT_TRUE(test::write_random_llama(file.path(), small_model(4)));
    const auto chooser = load_llm_router(options_for(file.path()));
    ASSERT_TRUE(chooser.ok());
    std::vector<std::thread> threads;
    std::vector<int> n_right(3, 0);
    for (std::size_t t = 0; t < n_right.size(); ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 3; ++i) {
                const std::string question = "How many " + std::to_string(i) + "?";
                n_right[t] += (*chooser)->choose(question, kIntents).ok() ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(n_right, testing::Each(3));
}

TEST(LlmRouter, WhatCannotBeSaysWhy) {
    const auto absent = load_llm_router(options_for("no-such-model.gguf"));
    ASSERT_FALSE(absent.ok());
    EXPECT_THAT(absent.status().message(), HasSubstr("no-such-model.gguf"));

    const TemporaryFile file("broken.gguf");
    std::ofstream(file.path()) << "this is no model";
    const auto nonsense = load_llm_router(options_for(file.path()));
    EXPECT_EQ(nonsense.status().code(), Code::Corrupt);
    EXPECT_THAT(nonsense.status().message(), HasSubstr("broken.gguf"));

    ASSERT_TRUE(test::write_random_llama(file.path(), small_model(1)));
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
    const auto cut = load_llm_router(options_for(file.path()));
    EXPECT_EQ(cut.status().code(), Code::Corrupt);

    ASSERT_TRUE(test::write_random_llama(file.path(), small_model(1)));
    LlmRouterOptions options = options_for(file.path());
    options.timeout_ms = 0.0;
    EXPECT_EQ(load_llm_router(options).status().code(), Code::InvalidArgument);
    const auto chooser = load_llm_router(options_for(file.path()));
    ASSERT_TRUE(chooser.ok());
    EXPECT_EQ((*chooser)->choose(std::string(60000, 'x'), kIntents).status().code(), Code::TooLarge);
    EXPECT_EQ((*chooser)->choose("How many?", {}).status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace clasp
