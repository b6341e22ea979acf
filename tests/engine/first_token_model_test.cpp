// What "--budget auto" decides by: predicted times of the first token, from a model of costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/cache_folder.h"
#include "engine/decoder_times.h"
#include "engine/engine_state.h"
#include "engine/first_token_model.h"
#include "engine/measure_decoder.h"
#include "engine_fixture.h"
#include "support/decoder_case.h"

namespace clasp::engine {
namespace {

using testing::Contains;
using testing::HasSubstr;

DecoderShape shape_of(std::size_t n_layers, std::size_t width) {
    DecoderShape shape = default_decoder_shape(n_layers);
    shape.width = width;
    shape.ffn_width = 3 * width;
    shape.head_width = 32;
    shape.n_heads = shape.n_kv_heads = width / 32;
    return shape;
}

// clasp's: looks and compares at each stage.
methods::Program staged(std::size_t n_visual, std::vector<Stage> stages) {
    methods::Program program;
    program.entering = n_visual;
    for (const Stage& stage : stages) {
        methods::DecoderStage at = {.layer = stage.layer, .keep = stage.keep};
        at.needs.scores = at.needs.gram = true;
        program.stages.push_back(at);
    }
    return program;
}

methods::Program published(std::size_t n_visual, std::size_t n_layers, double share) {
    ScheduleRequest request;
    request.n_visual = n_visual;
    request.n_layers = n_layers;
    request.budget = {BudgetSpec::Kind::Percent, share};
    const auto schedule = make_schedule(request);
    EXPECT_TRUE(schedule.ok()) << schedule.status().message();
    return staged(n_visual, schedule->stages);
}

FirstTokenTimes predict(const methods::Program& program, const PromptCounts& prompt,
                        const DecoderShape& shape, const DecoderTimings& timings) {
    return predict_first_token(program, prompt, shape, timings, false, 5);
}

// Written out again from the description: every layer costs its fixed time, its tokens and half of all pairs.
double plain_unpruned(const PromptCounts& prompt, const DecoderShape& shape, const DecoderTimings& timings) {
    const auto n = static_cast<double>(prompt.n_visual + prompt.n_carried);
    const auto width = static_cast<double>(shape.width);
    const auto heads = static_cast<double>(shape.n_heads * shape.head_width);
    const auto keys = static_cast<double>(shape.n_kv_heads * shape.head_width);
    const double per_token =
        2 * width * (2 * heads + 2 * keys) + 6 * width * static_cast<double>(shape.ffn_width);
    double ms = 0;
    for (std::size_t layer = 0; layer < shape.n_layers; ++layer) {
        ms += timings.layer_ms + n * timings.token_ms + timings.token_ms * 2 * heads * n * n / per_token;
    }
    return ms;
}

TEST(FirstTokenModel, CountsEveryLayer) {
    for (const PromptCounts prompt : {PromptCounts{64, 20}, {576, 53}, {2880, 40}}) {
        const DecoderShape shape = default_decoder_shape(32);
        const DecoderTimings timings = {.layer_ms = 0.3, .token_ms = 0.02};
        methods::Program all;
        all.entering = prompt.n_visual;
        const FirstTokenTimes times = predict(all, prompt, shape, timings);
        EXPECT_NEAR(times.unpruned_ms, plain_unpruned(prompt, shape, timings), 1e-6 * times.unpruned_ms);
        EXPECT_NEAR(times.pruned_ms, times.unpruned_ms, 1e-9 * times.unpruned_ms)
            << "nothing leaves, nothing is chosen";
        EXPECT_FALSE(times.pays());
    }
}

TEST(FirstTokenModel, FindsTheTimesThatGaveIt) {
    const DecoderShape shape = shape_of(8, 256);
    for (const DecoderTimings made : {DecoderTimings{0.5, 0.01}, {0.0, 2.0}, {20.0, 0.001}}) {
        methods::Program none;
        const auto timed = [&](std::size_t n) {
            const DecoderShape one = shape_of(1, 256);
            return TimedLayer{n, plain_unpruned({0, n}, one, made)};
        };
        const DecoderTimings found = fit_timings(timed(16), timed(64), shape);
        EXPECT_NEAR(found.layer_ms, made.layer_ms, 1e-6 * (1 + made.layer_ms));
        EXPECT_NEAR(found.token_ms, made.token_ms, 1e-6 * made.token_ms);
    }
    // Noise: the larger size was not slower.
    const DecoderTimings noisy = fit_timings({16, 1.0}, {64, 0.9}, shape);
    EXPECT_GT(noisy.token_ms, 0.0);
    EXPECT_GE(noisy.layer_ms, 0.0);
    EXPECT_TRUE(std::isfinite(noisy.token_ms));
}

// 64 tokens in a decoder whose blocks take longer to begin than to compute.
TEST(FirstTokenModel, DoesNotPruneATinyGrid) {
    const DecoderShape shape = shape_of(8, 96);
    const DecoderTimings slow_to_begin = {.layer_ms = 0.2, .token_ms = 0.0005};
    EXPECT_FALSE(predict(published(64, 8, 33), {64, 60}, shape, slow_to_begin).pays());
}

// Two stages or three are all that there is room for in four layers, and the first layers run in full.
TEST(FirstTokenModel, DoesNotPruneWhereLooksOutweighAShortDecoder) {
    const DecoderShape shape = shape_of(4, 256);
    const DecoderTimings timings = {.layer_ms = 1.0, .token_ms = 0.005};
    EXPECT_FALSE(predict(published(64, 4, 45), {64, 80}, shape, timings).pays());
    // The same decoder with a large picture is worth it.
    EXPECT_TRUE(predict(published(2304, 4, 45), {2304, 80}, shape, timings).pays());
}

TEST(FirstTokenModel, PrunesALargeDecoderNearlyAsFarAsItsOperationsSay) {
    const DecoderShape shape = default_decoder_shape(32);
    const DecoderTimings timings = {.layer_ms = 0.5, .token_ms = 6.0};  // a 7B model on one core
    const methods::Program program = published(576, 32, 33);
    const FirstTokenTimes times = predict(program, {576, 53}, shape, timings);
    EXPECT_TRUE(times.pays());
    Schedule schedule;
    schedule.per_layer = tokens_per_layer(program, 32);
    const auto cost = schedule_cost(schedule, shape, 576, 53, 0);
    ASSERT_TRUE(cost.ok());
    EXPECT_NEAR(times.pruned_ms / times.unpruned_ms, cost->flops_ratio, 0.05);
}

// Whatever the machine and the model: what is decided is never predicted to be later than unpruned, and a
// machine on which tokens cost nothing is never pruned.
TEST(FirstTokenModel, NeverDecidesForLater) {
    std::mt19937 random(7);
    const auto between = [&](double low, double high) {
        return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random));
    };
    int n_pruned = 0;
    int n_left = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::size_t n_layers = 4 + random() % 60;
        const DecoderShape shape = shape_of(n_layers, 32 * (1 + random() % 128));
        const DecoderTimings timings = {.layer_ms = between(0.01, 10), .token_ms = between(1e-4, 10)};
        const auto n_visual = static_cast<std::size_t>(between(16, 8192));
        const PromptCounts prompt = {n_visual, 10 + random() % 300};
        const methods::Program program = published(n_visual, n_layers, 70);
        for (const bool has_masses : {false, true}) {
            const FirstTokenTimes times = predict_first_token(program, prompt, shape, timings, has_masses, 5);
            (times.pays() ? n_pruned : n_left) += 1;
            if (times.pays()) {
                EXPECT_LT(times.pruned_ms, times.unpruned_ms);
            }
            DecoderTimings idle = timings;
            idle.token_ms = 1e-12;
            EXPECT_FALSE(predict_first_token(program, prompt, shape, idle, has_masses, 5).pays());
        }
    }
    EXPECT_GT(n_pruned, 100);
    EXPECT_GT(n_left, 100);
}

// Fewer tokens are never predicted to take longer, where nothing is to be chosen.
TEST(FirstTokenModel, IsMonotonousInTokens) {
    const DecoderShape shape = shape_of(16, 512);
    const DecoderTimings timings = {.layer_ms = 0.1, .token_ms = 0.05};
    double before = 0.0;
    for (std::size_t entering = 1; entering <= 576; entering += 25) {
        methods::Program program;
        program.entering = entering;
        program.has_after_projector = true;
        const FirstTokenTimes times = predict(program, {576, 40}, shape, timings);
        EXPECT_GT(times.pruned_ms, before);
        before = times.pruned_ms;
    }
}

TEST(MeasureDecoder, GivesTimesOfARealOne) {
    const auto text = test::load_random_llama("measured", {.n_layers = 2});
    auto executor = Executor::create(text);
    ASSERT_TRUE(executor.ok());
    const auto timings = measure_decoder(text, shape_of(2, 64), **executor);
    ASSERT_TRUE(timings.ok()) << timings.status().message();
    EXPECT_TRUE(std::isfinite(timings->layer_ms) && timings->layer_ms >= 0.0);
    EXPECT_TRUE(std::isfinite(timings->token_ms) && timings->token_ms > 0.0);
}

// What counting alone says holds for every machine that the predictor can be given.
TEST(FirstTokenModel, JudgesByCountsAsThePredictorWould) {
    std::mt19937 random(11);
    const auto between = [&](double low, double high) {
        return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random));
    };
    std::array<int, 3> n = {};
    for (int i = 0; i < 3000; ++i) {
        const std::size_t n_layers = 4 + random() % 60;
        const DecoderShape shape = shape_of(n_layers, 32 * (1 + random() % 128));
        const auto n_visual = static_cast<std::size_t>(between(16, 8192));
        const PromptCounts prompt = {n_visual, 10 + random() % 300};
        const methods::Program program = published(n_visual, n_layers, 70);
        const bool has_masses = random() % 2 == 0;
        const PruningVerdict verdict = judge_by_counts(program, prompt, shape, has_masses, 5);
        ++n[static_cast<std::size_t>(verdict)];
        const auto pays = [&](double tokens_to_begin) {
            const double token_ms = between(1e-4, 10);
            const DecoderTimings timings = {.layer_ms = tokens_to_begin * token_ms, .token_ms = token_ms};
            return predict_first_token(program, prompt, shape, timings, has_masses, 5).pays();
        };
        for (const double tokens_to_begin : {0.0, 1.0, 20.0, 60.0}) {
            if (verdict != PruningVerdict::Depends) {
                EXPECT_EQ(pays(tokens_to_begin), verdict == PruningVerdict::AlwaysPays);
            }
        }
        if (verdict == PruningVerdict::Depends) {
            EXPECT_TRUE(pays(0.0));
            EXPECT_FALSE(pays(1e9));
        }
    }
    for (const int count : n) EXPECT_GT(count, 100);
}

// The three cases of a large decoder, a short one and a tiny grid, none of which has to be measured.
TEST(FirstTokenModel, CountsSufficeForLargeDecodersAndForPicturesOfAFewTokens) {
    const DecoderShape large = default_decoder_shape(32);
    const auto judge = [](std::size_t n_visual, const DecoderShape& shape, double share) {
        return judge_by_counts(published(n_visual, shape.n_layers, share), {n_visual, 60}, shape, false, 5);
    };
    EXPECT_EQ(judge(576, large, 33), PruningVerdict::AlwaysPays);
    EXPECT_EQ(judge(2304, large, 33), PruningVerdict::AlwaysPays);
    EXPECT_EQ(judge(8, large, 33), PruningVerdict::NeverPays);
    EXPECT_EQ(judge(16, shape_of(4, 96), 70), PruningVerdict::NeverPays);
    // Blocks of so few operations may take any time to begin.
    EXPECT_EQ(judge(576, shape_of(24, 96), 33), PruningVerdict::Depends);
}

class AutoBudget : public EngineTest {
   protected:
    static std::string folder() {
        return std::string(test::scratch_dir()) + "/auto-budget-" + std::to_string(getpid());
    }
    void TearDown() override { std::filesystem::remove_all(folder()); }

    static std::unique_ptr<Engine> load(const std::string& cache_dir) {
        auto engine = Engine::load(
            {.model = text_path(), .mmproj = vision_path(), .n_threads = 1, .cache_dir = cache_dir});
        EXPECT_TRUE(engine.ok()) << engine.status().message();
        return engine.ok() ? std::move(engine).value() : nullptr;
    }
    AskRequest auto_request() const {
        AskRequest asked = request();
        asked.budget = {BudgetSpec::Kind::Auto, 0};
        return asked;
    }
    static std::size_t n_measured(const Engine& engine) { return engine.state().decoder_times->n_measured(); }
};

// The fixture's blocks are so small that counting says nothing: the first request is read unpruned without
// measuring, and what is measured behind it serves all later ones.
TEST_F(AutoBudget, NothingIsMeasuredBeforeAnAnswer) {
    const auto engine = load({});
    ASSERT_NE(engine, nullptr);
    AskRequest asked = auto_request();
    std::size_t n_at_first_token = 99;
    asked.on_text = [&](std::string_view) {
        if (n_at_first_token == 99) n_at_first_token = n_measured(*engine);
    };
    const auto first = engine->ask(asked);
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_NE(n_at_first_token, 1U);
    EXPECT_EQ(first->budget.decided, "none");
    EXPECT_THAT(first->budget.reason, HasSubstr("is measured after this answer"));
    EXPECT_THAT(first->notes, Contains(HasSubstr("budget auto: not pruned")));
    EXPECT_EQ(n_measured(*engine), 1U);

    const auto second = engine->ask(auto_request());
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_THAT(second->budget.reason, HasSubstr("reading the prompt is predicted to take "));
    EXPECT_EQ(second->budget.decided == "none", second->stages.empty());
    EXPECT_EQ(n_measured(*engine), 1U);
}

TEST_F(AutoBudget, ARequestWithABudgetMeasuresNothing) {
    const auto engine = load({});
    ASSERT_NE(engine, nullptr);
    ASSERT_TRUE(engine->ask(request()).ok());
    EXPECT_EQ(n_measured(*engine), 0U);
}

// Another run with the same cache folder predicts at once.
TEST_F(AutoBudget, KeepsTimesBetweenRuns) {
    ASSERT_TRUE(load(folder())->ask(auto_request()).ok());
    const auto listed = list_cache(folder());
    ASSERT_TRUE(listed.ok());
    EXPECT_EQ(std::count_if(listed->begin(), listed->end(),
                            [](const CacheFile& file) { return file.name.ends_with(kTimesSuffix); }),
              1);
    const auto next = load(folder());
    const auto answer = next->ask(auto_request());
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_THAT(answer->budget.reason, HasSubstr("reading the prompt is predicted to take "));
    EXPECT_EQ(n_measured(*next), 0U);
}

TEST(DecoderTimesFile, ComesBackAndEveryDamageIsNoticed) {
    const std::string key(64, 'b');
    const std::string good = serialise_times(key, {.layer_ms = 0.25, .token_ms = 1.5});
    const auto read = parse_times(key, good);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->layer_ms, 0.25);
    EXPECT_EQ(read->token_ms, 1.5);
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_FALSE(parse_times(key, good.substr(0, length)).ok()) << length;
    }
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 4);
        EXPECT_FALSE(parse_times(key, bad).ok()) << i;
    }
    EXPECT_FALSE(parse_times(std::string(64, 'c'), good).ok());
    EXPECT_FALSE(parse_times(key, good + "x").ok());
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    for (const DecoderTimings bad : {DecoderTimings{-1.0, 1.0},
                                     {1.0, 0.0},
                                     {1.0, kNone},
                                     {std::numeric_limits<double>::infinity(), 1.0}}) {
        EXPECT_FALSE(parse_times(key, serialise_times(key, bad)).ok());
    }
}

}  // namespace
}  // namespace clasp::engine
