// Whole requests over small random models: what must be equal is equal bit for bit, what is reported adds
// up, and what cannot be is refused with a reason.
#include "clasp/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>

#include "clasp/clasp_engine.h"
#include "clasp/inspect.h"
#include "clasp/route_llm.h"
#include "engine_fixture.h"
#include "methods/method.h"
#include "support/bmp.h"
#include "support/paths.h"
#include "support/random_llama.h"
#include "support/random_mmproj.h"

namespace clasp {
namespace {

using testing::HasSubstr;

TEST_F(EngineTest, NoBudgetAndNoFusionIsVanillaBitForBit) {
    AskRequest vanilla = request();
    vanilla.vanilla = true;
    AskRequest unpruned = request();
    unpruned.use_fusion = false;
    unpruned.budget = {BudgetSpec::Kind::None, 0};
    const Answer a = ask(vanilla);
    const Answer b = ask(unpruned);
    EXPECT_EQ(a.logits, b.logits);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.method, "none");
    EXPECT_TRUE(a.stages.empty());
    EXPECT_EQ(a.tokens.average, static_cast<double>(kTokens));
}

TEST_F(EngineTest, AScheduleThatKeepsEverythingIsNoScheduleBitForBit) {
    AskRequest none = request();
    none.budget = {BudgetSpec::Kind::None, 0};
    const Answer without = ask(none);
    for (const std::string method : {"clasp", "clasp+"}) {
        AskRequest all = request();
        all.forced_stages = {{1, kTokens}, {2, kTokens}, {4, kTokens}};
        all.method = method;
        const Answer with = ask(all);
        EXPECT_EQ(with.logits, without.logits);
        EXPECT_EQ(with.kv_bytes, without.kv_bytes);
    }
}

TEST_F(EngineTest, FusionChangesTheNumbersAndNamesItsMix) {
    AskRequest fused = request();
    fused.budget = {BudgetSpec::Kind::None, 0};
    fused.class_choice = "5";
    AskRequest plain = fused;
    plain.use_fusion = false;
    const Answer a = ask(fused);
    EXPECT_EQ(a.mix, (Mix{{5, 0.2}, {15, 0.3}, {22, 0.5}}));
    EXPECT_EQ(a.chosen_class.name, "Counting");
    EXPECT_EQ(a.chosen_class.by, "forced");
    EXPECT_NE(a.logits, ask(plain).logits);
}

// The text model itself as router, and a taxonomy whose class numbers are not the policy's.
TEST_F(EngineTest, TheRouterMayBeAChatModelWithATaxonomyOfItsOwn) {
    EngineOptions options = {.model = text_path(), .mmproj = vision_path(), .n_threads = 1};
    options.router.taxonomy_json = R"({"version": 1, "name": "two", "default": 20,
        "classes": [{"id": 10, "name": "Counting"}, {"id": 20, "name": "Default"}],
        "rules": [{"name": "many", "intent": "Counting", "patterns": ["how many"], "reason": "a number"}]})";
    auto chooser = load_llm_router({.model = text_path(), .timeout_ms = 600000.0, .n_threads = 1});
    ASSERT_TRUE(chooser.ok()) << chooser.status().message();
    options.router.kind = RouterKind::Llm;
    options.router.chooser = *chooser;
    options.router.threshold = 0.0F;
    const auto routed = Engine::load(options);
    ASSERT_TRUE(routed.ok()) << routed.status().message();
    AskRequest asked = request();
    const auto by_rule = (*routed)->ask(asked);
    ASSERT_TRUE(by_rule.ok()) << by_rule.status().message();
    EXPECT_EQ(by_rule->chosen_class.id, 5U);
    EXPECT_EQ(by_rule->chosen_class.by, "rules");
    asked.question = "Is the tower tall?";
    const auto by_model = (*routed)->ask(asked);
    ASSERT_TRUE(by_model.ok()) << by_model.status().message();
    EXPECT_EQ(by_model->chosen_class.by, "llm");
    EXPECT_THAT(by_model->chosen_class.name, testing::AnyOf("Counting", "Default"));
    EXPECT_GE(by_model->timings.first_token_ms, by_model->timings.prefill_ms);
    EXPECT_LE(by_model->timings.first_token_ms, by_model->timings.total_ms);
}

TEST_F(EngineTest, CountsAddUpAtEveryStage) {
    AskRequest pruned = request();
    pruned.budget = {BudgetSpec::Kind::Percent, 33};
    pruned.class_choice = "Counting";
    const Answer answer = ask(pruned);
    EXPECT_EQ(answer.tokens.visual, kTokens);
    EXPECT_EQ(answer.tokens.entering, kTokens);
    ASSERT_EQ(answer.stages.size(), 3U);
    EXPECT_EQ(answer.tokens.final, answer.stages.back().kept.size());
    EXPECT_NEAR(answer.tokens.average, 0.33 * kTokens, 0.02 * kTokens);
    EXPECT_DOUBLE_EQ(answer.split, 0.6);
    const std::vector<TokenIndex>* before = nullptr;
    for (const StageReport& stage : answer.stages) {
        EXPECT_EQ(stage.pivots.size() + stage.coverage.size(), stage.kept.size());
        EXPECT_EQ(stage.pivots.size(), pivot_count(0.6, stage.kept.size()));
        if (before != nullptr) {
            EXPECT_TRUE(std::includes(before->begin(), before->end(), stage.kept.begin(), stage.kept.end()));
        }
        before = &stage.kept;
    }
    AskRequest none = request();
    none.budget = {BudgetSpec::Kind::None, 0};
    EXPECT_LT(answer.kv_bytes, ask(none).kv_bytes);
}

TEST_F(EngineTest, EveryMethodAnswersWithinItsBudgetAndIsStable) {
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        AskRequest pruned = request();
        pruned.method = std::string(method.name);
        pruned.budget = {BudgetSpec::Kind::Tokens, 40};
        const auto once = engine().ask(pruned);
        ASSERT_TRUE(once.ok()) << once.status().message();
        const Answer again = ask(pruned);
        EXPECT_EQ(once->logits, again.logits);
        EXPECT_EQ(once->method, method.name);
        EXPECT_EQ(once->mass, method.uses_masses ? MassRule::Nearest : MassRule::None);
        EXPECT_EQ(once->tokens.visual, kTokens);
        EXPECT_LE(once->tokens.entering, kTokens);
        EXPECT_LE(once->tokens.final, once->tokens.entering);
        if (method.name != "vtw" && method.name != "mustdrop" && !method.name.starts_with("prumerge")) {
            EXPECT_NEAR(once->tokens.average, 40.0, 1.5);
        }
        ASSERT_FALSE(once->stages.empty());
        EXPECT_EQ(once->stages.back().kept.size() + once->stages.back().n_class_tokens, once->tokens.final);
    }
}

TEST_F(EngineTest, EveryMethodWithABudgetOfAllTokensIsNoMethodBitForBit) {
    AskRequest none = request();
    none.budget = {BudgetSpec::Kind::None, 0};
    none.use_fusion = false;
    const Answer without = ask(none);
    for (const methods::Method& method : methods::all_methods()) {
        AskRequest all = none;
        all.method = std::string(method.name);
        all.budget = {BudgetSpec::Kind::Percent, 100};
        const auto with = engine().ask(all);
        ASSERT_TRUE(with.ok()) << method.name << ": " << with.status().message();
        EXPECT_EQ(with->logits, without.logits) << method.name;
    }
}

TEST_F(EngineTest, MassesGoWithEveryMethodThatDrops) {
    for (const methods::Method& method : methods::all_methods()) {
        SCOPED_TRACE(method.name);
        AskRequest heavy = request();
        heavy.method = std::string(method.name);
        heavy.budget = {BudgetSpec::Kind::Tokens, 40};
        heavy.mass = MassRule::Nearest;
        const auto answer = engine().ask(heavy);
        if (!method.drops) {
            EXPECT_EQ(answer.status().code(), Code::InvalidArgument);
            continue;
        }
        ASSERT_TRUE(answer.ok()) << answer.status().message();
        EXPECT_EQ(answer->mass, MassRule::Nearest);
        heavy.mass = MassRule::None;
        EXPECT_NE(answer->logits, ask(heavy).logits);
    }
}

TEST_F(EngineTest, PositionsFollowTheModeThatIsAsked) {
    AskRequest asked = request();
    asked.method = "pdrop";
    asked.budget = {BudgetSpec::Kind::Tokens, 40};
    const Answer official = ask(asked);
    EXPECT_EQ(official.positions, "compact");
    asked.position_mode = "compact";
    EXPECT_EQ(ask(asked).logits, official.logits);
    asked.position_mode = "keep";
    EXPECT_NE(ask(asked).logits, official.logits);
    EXPECT_EQ(ask(asked).positions, "keep");
    asked.position_mode = "shuffle";
    EXPECT_THAT(error_of(asked), HasSubstr("official, keep, compact"));
}

TEST_F(EngineTest, BudgetsHaveThreeMeaningsOrAreRefused) {
    AskRequest asked = request();
    asked.method = "fastv";
    asked.budget = {BudgetSpec::Kind::Tokens, 20};
    asked.budget_kind = "final";
    EXPECT_EQ(ask(asked).tokens.final, 20U);
    asked.method = "clasp";
    EXPECT_EQ(ask(asked).tokens.final, 20U);
    asked.budget_kind = "entering";
    EXPECT_THAT(error_of(asked), HasSubstr("all 64 visual tokens enter"));
    asked.budget_kind = "least";
    EXPECT_THAT(error_of(asked), HasSubstr("average, entering, final"));
}

TEST_F(EngineTest, OptionsOfMethodsAreRead) {
    AskRequest asked = request();
    asked.method = "fastv";
    asked.budget = {BudgetSpec::Kind::Tokens, 40};
    asked.method_options = {"layer=3"};
    EXPECT_EQ(ask(asked).stages.front().layer, 2U);
    asked.method_options = {"layers=3"};
    EXPECT_THAT(error_of(asked), HasSubstr("has no option 'layers'"));
    asked.method_options.clear();
    asked.forced_stages = {{2, 20}};
    EXPECT_EQ(ask(asked).tokens.final, 20U);
    asked.forced_stages.clear();
    asked.schedule_name = "paper-192";
    EXPECT_THAT(error_of(asked), HasSubstr("a named schedule does not fit it"));
}

TEST_F(EngineTest, FastvFollowsItsPaperOnRequest) {
    AskRequest asked = request();
    asked.method = "fastv";
    asked.budget = {BudgetSpec::Kind::Tokens, 40};
    const Answer code = ask(asked);
    asked.method_options = {"faithful=paper"};
    const Answer paper = ask(asked);
    EXPECT_EQ(paper.stages.front().kept.size(), code.stages.front().kept.size());
    EXPECT_NE(paper.stages.front().kept, code.stages.front().kept);
    asked.forced_stages = {{2, 20}, {3, 10}};
    EXPECT_THAT(error_of(asked), HasSubstr("a single stage"));
}

TEST_F(EngineTest, ARandomChoiceFollowsSeedAndPicture) {
    AskRequest asked = request();
    asked.method = "random";
    asked.budget = {BudgetSpec::Kind::Tokens, 20};
    const auto kept = [&] { return ask(asked).stages.front().kept; };
    const auto first = kept();
    EXPECT_EQ(kept(), first);
    asked.select_seed = 1;
    const auto other_seed = kept();
    EXPECT_NE(other_seed, first);
    asked.select_seed = 0;
    asked.method_options = {"seed=1"};
    EXPECT_EQ(kept(), other_seed);
    asked.method_options.clear();
    const std::string other = picture(2);
    asked.images = {{{}, other}};
    EXPECT_NE(kept(), first);
}

TEST_F(EngineTest, PoliciesMayAskForRaters) {
    AskRequest asked = request();
    asked.policy = *find_profile("llava");
    asked.policy.reference_tokens = ReferenceTokens::Raters;
    const Answer answer = ask(asked);
    EXPECT_EQ(answer.stages.size(), 3U);
}

TEST_F(EngineTest, AQuestionAboutACachedImageSkipsTheEncoderAndAnswersTheSame) {
    AskRequest first = request();
    first.images = {{{}, picture_}};
    ask(first);
    AskRequest second = request();
    second.class_choice = "7";
    const Answer cached = ask(second);
    EXPECT_EQ(cached.timings.encode_ms, 0.0);
    auto fresh_engine =
        Engine::load({.model = text_path(), .mmproj = vision_path(), .n_threads = 1, .cached_images = 0});
    ASSERT_TRUE(fresh_engine.ok());
    const auto fresh = (*fresh_engine)->ask(second);
    ASSERT_TRUE(fresh.ok());
    EXPECT_GT(fresh->timings.encode_ms, 0.0);
    EXPECT_EQ(fresh->logits, cached.logits);
}

// prumerge, fastervlm and clasp read different parts of the encoder.
TEST_F(EngineTest, MethodsThatTakeTurnsEncodeANewImageOnce) {
    const auto load = [](bool several) {
        auto engine = Engine::load(
            {.model = text_path(), .mmproj = vision_path(), .n_threads = 1, .several_methods = several});
        EXPECT_TRUE(engine.ok());
        return std::move(engine).value();
    };
    const std::vector<std::string> methods = {"clasp", "fastervlm", "prumerge"};
    const std::vector<std::string> pictures = {picture_, picture(5)};
    const auto encodings = [&](const Engine& engine, std::vector<std::vector<float>>& logits) {
        std::vector<std::size_t> counts;
        for (const std::string& bytes : pictures) {
            std::size_t n = 0;
            for (const std::string& method : methods) {
                AskRequest asked = request();
                asked.images = {{{}, bytes}};
                asked.method = method;
                asked.budget = {BudgetSpec::Kind::Tokens, 40};
                const auto answer = engine.ask(asked);
                EXPECT_TRUE(answer.ok()) << answer.status().message();
                if (!answer) continue;
                if (answer->timings.encode_ms > 0.0) ++n;
                logits.push_back(answer->logits);
            }
            counts.push_back(n);
        }
        return counts;
    };
    std::vector<std::vector<float>> gathered;
    std::vector<std::vector<float>> alone;
    EXPECT_EQ(encodings(*load(true), gathered), (std::vector<std::size_t>{3, 1}));
    EXPECT_EQ(encodings(*load(false), alone), (std::vector<std::size_t>{3, 3}));
    EXPECT_EQ(gathered, alone);
}

TEST_F(EngineTest, SeveralImagesShareABudget) {
    const std::string other = picture(5);
    AskRequest pruned = request();
    pruned.images = {{{}, picture_}, {{}, other}};
    pruned.forced_stages = {{1, 40}, {3, 20}};
    const Answer answer = ask(pruned);
    EXPECT_EQ(answer.tokens.visual, 2 * kTokens);
    ASSERT_EQ(answer.layouts.size(), 2U);
    EXPECT_EQ(answer.layouts[0].grid, (Grid{8, 8}));
    for (const StageReport& stage : answer.stages) {
        const auto middle = std::lower_bound(stage.kept.begin(), stage.kept.end(), kTokens);
        EXPECT_EQ(middle - stage.kept.begin(), stage.kept.end() - middle);
    }
}

TEST_F(EngineTest, StreamedTextIsTheAnswer) {
    AskRequest streaming = request();
    streaming.generation.max_tokens = 16;
    std::string streamed;
    streaming.on_text = [&](std::string_view text) { streamed += text; };
    const Answer answer = ask(streaming);
    EXPECT_EQ(streamed, answer.text);
    EXPECT_LE(answer.generated, 16U);
}

TEST_F(EngineTest, ACancelledRequestIsToldSo) {
    std::atomic<bool> cancel = true;
    AskRequest cancelled = request();
    cancelled.cancel = &cancel;
    EXPECT_EQ(engine().ask(cancelled).status().code(), Code::Cancelled);
    // While the picture is decoded, too: this one would be found to be empty.
    cancelled.images = {{{}, "\xFF\xD8\xFF\xD9"}};
    EXPECT_EQ(engine().ask(cancelled).status().code(), Code::Cancelled);
}

TEST_F(EngineTest, RequestsFromSeveralThreadsDoNotDisturbEachOther) {
    const Answer alone = ask(request());
    std::vector<std::vector<float>> logits(3);
    std::vector<std::thread> threads;
    for (std::vector<float>& mine : logits) {
        threads.emplace_back([&] {
            if (auto answer = engine().ask(request()); answer.ok()) mine = answer->logits;
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<float>& mine : logits) EXPECT_EQ(mine, alone.logits);
}

TEST_F(EngineTest, BadRequestsAreRefusedWithAReason) {
    AskRequest bad = request();
    bad.images = {{"no-such-picture.png", {}}};
    EXPECT_THAT(error_of(bad), HasSubstr("no-such-picture.png"));
    bad = request();
    bad.images = {{"no-such-picture.png", picture_}};
    EXPECT_THAT(error_of(bad),
                HasSubstr("image 1 of the request has more than one of path, bytes and frames"));
    bad.images = {{{}, picture_}, {}};
    EXPECT_THAT(error_of(bad), HasSubstr("image 2 of the request has neither path nor bytes"));
    bad = request();
    bad.generation.max_tokens = kMaxAnswerTokens + 1;
    EXPECT_THAT(error_of(bad), HasSubstr("more than the limit of 1048576"));
    bad.generation.max_tokens = (std::size_t{1} << 32U) + 1;  // 1 in 32 bits
    EXPECT_THAT(error_of(bad), HasSubstr("4294967297 tokens"));
    bad = request();
    bad.images = {{{}, "not a picture"}};
    EXPECT_FALSE(error_of(bad).empty());
    bad = request();
    bad.method = "magic";
    EXPECT_THAT(error_of(bad), HasSubstr("there is no method 'magic'"));
    bad = request();
    bad.class_choice = "Weather";
    EXPECT_THAT(error_of(bad), HasSubstr("Weather"));
    bad = request();
    bad.budget = {BudgetSpec::Kind::Tokens, 3};
    EXPECT_THAT(error_of(bad), HasSubstr("smallest"));
    bad = request();
    bad.policy = *find_profile("qwen2.5-vl");
    EXPECT_THAT(error_of(bad), HasSubstr("layers 0 to 22"));
    bad = request();
    bad.forced_stages = {{99, 10}};
    EXPECT_THAT(error_of(bad), HasSubstr("99"));
}

TEST_F(EngineTest, FilesThatDoNotFitTogetherAreRefused) {
    const std::string wide = vision_path() + ".wide";
    std::ofstream out(wide, std::ios::binary);
    test::MmprojSpec spec;
    spec.output_width = 128;
    test::write_random_mmproj(spec, out);
    out.close();
    const auto engine = Engine::load({.model = text_path(), .mmproj = wide});
    EXPECT_THAT(engine.status().message(), HasSubstr("do not belong together"));
    EXPECT_FALSE(Engine::load({.model = vision_path(), .mmproj = text_path()}).ok());
    std::filesystem::remove(wide);
}

TEST_F(EngineTest, TheCHeaderGivesTheSameAnswer) {
    clasp_error error;
    clasp_setup* setup = nullptr;
    ASSERT_EQ(clasp_setup_create(&setup, &error), CLASP_OK) << error.message;
    ASSERT_EQ(clasp_setup_set(setup, "model", text_path().c_str(), &error), CLASP_OK) << error.message;
    ASSERT_EQ(clasp_setup_set(setup, "mmproj", vision_path().c_str(), &error), CLASP_OK) << error.message;
    ASSERT_EQ(clasp_setup_set(setup, "threads", "1", &error), CLASP_OK) << error.message;
    clasp_engine* handle = nullptr;
    ASSERT_EQ(clasp_engine_load(setup, &handle, &error), CLASP_OK) << error.message;
    clasp_setup_destroy(setup);
    clasp_request* asking = nullptr;
    ASSERT_EQ(clasp_request_create("How many cups are on the table?", &asking, &error), CLASP_OK);
    ASSERT_EQ(clasp_request_add_bytes(asking, picture_.data(), picture_.size(), &error), CLASP_OK);
    ASSERT_EQ(clasp_request_set(asking, "max_tokens", "4", &error), CLASP_OK) << error.message;
    std::string streamed;
    const auto append = [](const char* text, size_t length, void* user) {
        static_cast<std::string*>(user)->append(text, length);
        return 0;
    };
    clasp_request_on_text(asking, append, &streamed);
    clasp_answer* answer = nullptr;
    ASSERT_EQ(clasp_engine_ask(handle, asking, &answer, &error), CLASP_OK) << error.message;
    const Answer wanted = ask(request());
    EXPECT_EQ(clasp_answer_text(answer), wanted.text);
    EXPECT_EQ(streamed, wanted.text);
    EXPECT_EQ(clasp_answer_class_name(answer), wanted.chosen_class.name);
    EXPECT_EQ(clasp_answer_tokens(answer).final_count, wanted.tokens.final);
    EXPECT_EQ(clasp_answer_kv_bytes(answer), wanted.kv_bytes);
    const clasp_timings times = clasp_answer_timings(answer);
    EXPECT_GT(times.prefill_ms, 0.0);
    EXPECT_GT(times.first_token_ms, times.prefill_ms);
    EXPECT_GE(times.total_ms, times.first_token_ms);
    EXPECT_EQ(clasp_answer_stopped(answer), stopped_name(wanted.stopped));
    ASSERT_EQ(clasp_answer_stage_count(answer), wanted.stages.size());
    size_t count = 0;
    const uint32_t* pivots = clasp_answer_stage_pivots(answer, 1, &count);
    EXPECT_EQ(std::vector<TokenIndex>(pivots, pivots + count), wanted.stages[1].pivots);
    EXPECT_EQ(clasp_answer_stage_kept(answer, 9, &count), nullptr);
    clasp_answer_destroy(answer);

    // Fusion as the method has it, or as the caller says.
    AskRequest fused = request();
    fused.method = "fastv";
    ASSERT_EQ(clasp_request_set(asking, "method", "fastv", &error), CLASP_OK) << error.message;
    for (const char* fusion : {"", "false", "true"}) {
        const std::string word = fusion;
        if (!word.empty()) {
            ASSERT_EQ(clasp_request_set(asking, "fusion", fusion, &error), CLASP_OK) << error.message;
        }
        ASSERT_EQ(clasp_engine_ask(handle, asking, &answer, &error), CLASP_OK) << error.message;
        fused.use_fusion = word.empty() ? std::nullopt : std::optional<bool>(word == "true");
        EXPECT_EQ(clasp_answer_text(answer), ask(fused).text) << fusion;
        clasp_answer_destroy(answer);
    }

    clasp_cancel* cancel = nullptr;
    ASSERT_EQ(clasp_cancel_create(&cancel, &error), CLASP_OK);
    clasp_cancel_request(cancel);
    clasp_request_cancel_with(asking, cancel);
    EXPECT_EQ(clasp_engine_ask(handle, asking, &answer, &error), CLASP_CANCELLED);
    EXPECT_EQ(answer, nullptr);
    clasp_request_destroy(asking);
    EXPECT_EQ(clasp_request_create(nullptr, &asking, &error), CLASP_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message, "question is NULL");
    clasp_cancel_destroy(cancel);
    clasp_engine_destroy(handle);
}

// Every option is set by name and text, refused with its name and its limit, and checked against the others
// when the request is asked.
TEST_F(EngineTest, OptionsOfTheCHeaderAreSetByName) {
    clasp_error error;
    clasp_request* asking = nullptr;
    ASSERT_EQ(clasp_request_create("How many?", &asking, &error), CLASP_OK);
    const auto refusal = [&](const char* name, const char* value) {
        EXPECT_NE(clasp_request_set(asking, name, value, &error), CLASP_OK) << name;
        return std::string(error.message);
    };
    EXPECT_THAT(refusal("budgt", "64"), HasSubstr("did you mean 'budget'?"));
    EXPECT_EQ(refusal("threads", "1").find("there is no option 'threads'"), 0U);
    EXPECT_EQ(refusal("max_tokens", "0"), "max_tokens takes a whole number from 1 to 1048576, not '0'");
    EXPECT_EQ(refusal("budget_kind", "all"), "budget_kind takes average, entering or final, not 'all'");
    EXPECT_EQ(refusal("vanilla", "yes"), "vanilla takes true or false, not 'yes'");
    EXPECT_EQ(clasp_request_set(asking, "budget", nullptr, &error), CLASP_INVALID_ARGUMENT);

    clasp_setup* setup = nullptr;
    ASSERT_EQ(clasp_setup_create(&setup, &error), CLASP_OK);
    ASSERT_EQ(clasp_setup_set(setup, "model", text_path().c_str(), &error), CLASP_OK);
    ASSERT_EQ(clasp_setup_set(setup, "mmproj", vision_path().c_str(), &error), CLASP_OK);
    EXPECT_NE(clasp_setup_set(setup, "budget", "64", &error), CLASP_OK);
    EXPECT_NE(clasp_setup_set(setup, "gpu", "no", &error), CLASP_OK);
    clasp_engine* handle = nullptr;
    ASSERT_EQ(clasp_engine_load(setup, &handle, &error), CLASP_OK) << error.message;
    clasp_setup_destroy(setup);
    ASSERT_EQ(clasp_request_add_bytes(asking, picture_.data(), picture_.size(), &error), CLASP_OK);
    ASSERT_EQ(clasp_request_set(asking, "schedule", "1:4", &error), CLASP_OK) << error.message;
    ASSERT_EQ(clasp_request_set(asking, "budget", "8", &error), CLASP_OK) << error.message;
    clasp_answer* answer = nullptr;
    EXPECT_EQ(clasp_engine_ask(handle, asking, &answer, &error), CLASP_INVALID_ARGUMENT);
    EXPECT_STREQ(error.message, "budget and schedule exclude each other");
    clasp_request_destroy(asking);
    clasp_engine_destroy(handle);
}

TEST_F(EngineTest, InspectTellsWhatIsInAFile) {
    const auto text = inspect_gguf(text_path());
    ASSERT_TRUE(text.ok());
    EXPECT_TRUE(text->is_supported) << text->reason;
    EXPECT_EQ(text->architecture, "llama");
    EXPECT_EQ(text->text->n_layers, 8U);
    const auto vision = inspect_gguf(vision_path());
    ASSERT_TRUE(vision.ok());
    EXPECT_TRUE(vision->is_supported) << vision->reason;
    EXPECT_EQ(vision->vision->n_blocks, 23U);
    EXPECT_EQ(vision->vision->feature_layer, 22U);
    EXPECT_FALSE(inspect_gguf("no-such-file.gguf").ok());
}

}  // namespace
}  // namespace clasp
