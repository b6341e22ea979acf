// The option table, and requests read from it by text and by JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "clasp/policy.h"
#include "request/conflicts.h"
#include "request/json_request.h"
#include "request/option_table.h"
#include "support/json.h"

namespace clasp::request {
namespace {

using testing::HasSubstr;

// Options of a request and of its answer in one object.
Status read_into(Settings& settings, const std::string& json) {
    constexpr std::array kScopes = {Scope::Asking, Scope::Generation, Scope::Time};
    CLASP_RETURN_IF_ERROR(read_options(test::parsed(json), kScopes, {}, settings));
    return check_conflicts(settings, Caller::Json);
}

std::string request_error(const std::string& json) {
    Settings settings = default_settings();
    const Status status = read_into(settings, json);
    return status.ok() ? "no error" : status.message();
}

AskRequest read(const std::string& json) {
    Settings settings = default_settings();
    const Status status = read_into(settings, json);
    EXPECT_TRUE(status.ok()) << status.message();
    return settings.request;
}

TEST(OptionTable, NamesAndKeysAreUniqueAndDefaultsFitTheirOptions) {
    std::set<std::string> names;
    std::set<std::string> keys;
    for (const Row& row : option_table()) {
        EXPECT_TRUE(names.emplace(row.option.name).second) << row.option.name;
        EXPECT_TRUE(keys.insert(row.key).second) << row.key;
        EXPECT_EQ(row.key.find('-'), std::string::npos) << row.key;
        EXPECT_EQ(row.is_negated, row.option.name.starts_with("no-")) << row.option.name;
        if (row.option.fallback.empty()) continue;
        const auto value = read_text(row.option, row.key, row.option.fallback);
        ASSERT_TRUE(value.ok()) << value.status().message();
        Settings settings;
        EXPECT_TRUE(row.set(settings, *value).ok()) << row.option.name;
    }
}

// What a program leaves alone is what the command line does without options.
TEST(OptionTable, DefaultsAreThoseOfThePublicTypes) {
    const Settings settings = default_settings();
    const AskRequest request;
    const EngineOptions engine;
    EXPECT_EQ(settings.request.budget, request.budget);
    EXPECT_EQ(settings.request.budget_kind, request.budget_kind);
    EXPECT_EQ(settings.request.position_mode, request.position_mode);
    EXPECT_EQ(settings.request.compat, request.compat);
    EXPECT_EQ(settings.request.use_fusion, request.use_fusion);
    EXPECT_EQ(settings.request.max_seconds, request.max_seconds);
    EXPECT_EQ(settings.request.generation.max_tokens, request.generation.max_tokens);
    EXPECT_EQ(settings.request.generation.temperature, request.generation.temperature);
    EXPECT_EQ(settings.request.generation.top_p, request.generation.top_p);
    EXPECT_EQ(settings.engine.n_threads, engine.n_threads);
    EXPECT_EQ(settings.engine.vision_weights, engine.vision_weights);
    EXPECT_EQ(settings.engine.kernels, engine.kernels);
    EXPECT_EQ(settings.engine.packed, engine.packed);
    EXPECT_EQ(settings.engine.use_gpu, engine.use_gpu);
    EXPECT_EQ(settings.engine.cached_images, engine.cached_images);
    EXPECT_EQ(settings.engine.cache_bytes, engine.cache_bytes);
    EXPECT_TRUE(settings.given.empty());
}

TEST(JsonRequest, ReadsEveryKindOfOption) {
    const AskRequest request = read(R"({"budget": 64, "budget_kind": "Final", "method": "fastv",
        "method_options": {"layer": 3, "faithful": "paper"}, "mass": "nearest", "class": 1, "fusion": false,
        "compat": "llama.cpp", "select_seed": 7, "max_tokens": 12.0, "temperature": 0.5, "top_p": 1,
        "seed": 4294967295, "position_mode": "keep", "max_seconds": 0.5})");
    EXPECT_EQ(request.budget, (BudgetSpec{BudgetSpec::Kind::Tokens, 64.0}));
    EXPECT_EQ(request.budget_kind, "final");
    EXPECT_EQ(request.method, "fastv");
    EXPECT_THAT(request.method_options, testing::UnorderedElementsAre("layer=3", "faithful=paper"));
    EXPECT_EQ(request.mass, MassRule::Nearest);
    EXPECT_EQ(request.class_choice, "1");
    EXPECT_EQ(request.use_fusion, false);
    EXPECT_EQ(request.compat, Compat::LlamaCpp);
    EXPECT_EQ(request.select_seed, 7U);
    EXPECT_EQ(request.generation.max_tokens, 12U);
    EXPECT_EQ(request.generation.temperature, 0.5);
    EXPECT_EQ(request.generation.seed, 4294967295U);
    EXPECT_EQ(request.position_mode, "keep");
    EXPECT_EQ(request.max_seconds, 0.5);
    EXPECT_EQ(read(R"({"budget": "50%"})").budget, (BudgetSpec{BudgetSpec::Kind::Percent, 50.0}));
    EXPECT_EQ(read(R"({"schedule": "2:300,6:200"})").forced_stages.size(), 2U);
    EXPECT_THAT(read(R"({"method_options": ["a=1", "b=2"]})").method_options,
                testing::ElementsAre("a=1", "b=2"));
    EXPECT_THAT(read(R"({"stop": "."})").generation.stop, testing::ElementsAre("."));
    EXPECT_THAT(read(R"({"stop": [".", "!"]})").generation.stop, testing::ElementsAre(".", "!"));
    EXPECT_EQ(read("{}").budget, AskRequest().budget);
    EXPECT_EQ(read("{}").max_seconds, std::nullopt);
}

TEST(JsonRequest, WrongKeysTypesAndRangesAreRefusedByName) {
    EXPECT_THAT(request_error(R"({"budgt": 64})"), HasSubstr("'budgt' (did you mean 'budget'?)"));
    EXPECT_THAT(request_error(R"({"threads": 1})"), HasSubstr("there is no option 'threads'"));
    EXPECT_EQ(request_error(R"({"max_tokens": 0})"),
              "max_tokens takes a whole number from 1 to 1048576, not 0");
    EXPECT_EQ(request_error(R"({"max_tokens": 1048577})"),
              "max_tokens takes a whole number from 1 to 1048576, not 1048577");
    EXPECT_EQ(request_error(R"({"max_tokens": 1})"), "no error");
    EXPECT_EQ(request_error(R"({"max_tokens": 1048576})"), "no error");
    for (const char* bad : {"-1", "1.5", "1e308", "\"1\"", "true", "null", "[]", "{}"}) {
        EXPECT_THAT(request_error(std::string(R"({"max_tokens": )") + bad + "}"),
                    HasSubstr("max_tokens takes a whole number"));
    }
    EXPECT_EQ(request_error(R"({"temperature": -0.1})"),
              "temperature takes a number from 0 to 100, not -0.1");
    EXPECT_EQ(request_error(R"({"max_seconds": 86401})"),
              "max_seconds takes a number from 0.001 to 86400, not 86401");
    EXPECT_EQ(request_error(R"({"top_p": 0})"), "top_p takes a number from 0.000001 to 1, not 0");
    EXPECT_EQ(request_error(R"({"seed": 4294967296})"),
              "seed takes a whole number from 0 to 4294967295, not 4294967296");
    EXPECT_EQ(request_error(R"({"vanilla": 1})"), "vanilla takes true or false, not 1");
    EXPECT_EQ(request_error(R"({"mass": "some"})"), "mass takes none or nearest, not 'some'");
    EXPECT_EQ(request_error(R"({"method": ["fastv"]})"), "method takes a text, not a list");
    EXPECT_EQ(request_error(R"({"class": {}})"), "class takes a text or a number, not an object");
    EXPECT_THAT(request_error(R"({"budget": -3})"), HasSubstr("-3"));
    EXPECT_THAT(request_error(R"({"method_options": {"a": []}})"), HasSubstr("method_options.a takes"));
    EXPECT_EQ(request_error("[]"), "the options of a request are an object");
}

// What comes over a network names a profile; it opens no file.
TEST(JsonRequest, PoliciesAreNamedNotRead) {
    EXPECT_EQ(read(R"({"policy": "llava"})").policy.name, "llava");
    EXPECT_EQ(read(R"({"policy": "llava"})").use_fusion, true);
    EXPECT_EQ(read(R"({"policy": "llava", "fusion": false})").use_fusion, false);
    const std::string path = "policy-of-this-test.json";
    ASSERT_TRUE(write_policy(find_profile("llava").value(), path).ok());
    EXPECT_TRUE(load_policy(path).ok());
    EXPECT_NE(request_error(R"({"policy": "policy-of-this-test.json"})"), "no error");
    std::remove(path.c_str());
}

TEST(Conflicts, SpeakTheCallersLanguage) {
    constexpr std::array kScopes = {Scope::Asking, Scope::Router, Scope::Memory};
    const auto conflict = [&](std::initializer_list<std::pair<const char*, const char*>> options,
                              Caller caller) {
        Settings settings = default_settings();
        for (const auto& [key, text] : options) {
            EXPECT_TRUE(set_option(settings, kScopes, key, text).ok()) << key;
        }
        return check_conflicts(settings, caller).message();
    };
    EXPECT_EQ(conflict({{"budget", "64"}, {"schedule", "2:3"}}, Caller::CommandLine),
              "--budget and --schedule exclude each other");
    EXPECT_EQ(conflict({{"budget", "64"}, {"schedule", "2:3"}}, Caller::Json),
              "budget and schedule exclude each other");
    EXPECT_EQ(conflict({{"vanilla", "true"}, {"method_options", "a=1"}}, Caller::CommandLine),
              "--vanilla means no fusion and no pruning; --method-option has no effect with it");
    EXPECT_EQ(conflict({{"vanilla", "true"}, {"method_options", "a=1"}}, Caller::C),
              "vanilla means no fusion and no pruning; method_options has no effect with it");
    EXPECT_EQ(conflict({{"vanilla", "true"}, {"fusion", "false"}}, Caller::Json),
              "vanilla means no fusion and no pruning; fusion has no effect with it");
    EXPECT_EQ(conflict({{"vanilla", "true"}, {"budget", "64"}}, Caller::Json),
              "vanilla means no pruning; budget has no effect with it");
    EXPECT_EQ(conflict({{"vanilla", "true"}, {"budget", "none"}}, Caller::Json), "");
    EXPECT_EQ(conflict({{"vanilla", "false"}, {"budget", "64"}}, Caller::Json), "");
    EXPECT_EQ(conflict({{"class", "1"}, {"taxonomy", "x.json"}}, Caller::C),
              "class skips the router; taxonomy has no effect with it");
    EXPECT_EQ(conflict({{"router", "llm"}}, Caller::CommandLine),
              "--router llm and --router-model FILE belong together");
    EXPECT_EQ(request_error(R"({"budget": 64, "schedule": "2:3"})"),
              "budget and schedule exclude each other");
    EXPECT_EQ(conflict({{"cache_size", "5"}}, Caller::CommandLine),
              "--cache-size bounds the folder of --cache, which is not given");
    EXPECT_EQ(conflict({{"cache", "folder"}, {"cache_size", "5"}}, Caller::CommandLine), "");
}

TEST(Conflicts, ARequestWithoutAPictureTakesNoOptionAboutPictures) {
    constexpr std::array kScopes = {Scope::Asking, Scope::Generation};
    const auto refusal = [&](const char* key, const char* text) {
        Settings settings = default_settings();
        EXPECT_TRUE(set_option(settings, kScopes, key, text).ok()) << key;
        return check_text_only(settings, Caller::CommandLine).message();
    };
    EXPECT_EQ(refusal("budget", "64"),
              "a question without a picture has no visual tokens; --budget has no effect on it");
    EXPECT_THAT(refusal("fusion", "false"), HasSubstr("--no-fusion"));
    EXPECT_THAT(refusal("compat", "llama.cpp"), HasSubstr("--compat"));
    EXPECT_THAT(refusal("newline", "as-patch"), HasSubstr("--newline"));
    EXPECT_THAT(refusal("split_time", "even"), HasSubstr("--split-time"));
    for (const auto& [key, text] :
         {std::pair("budget", "none"), {"vanilla", "true"}, {"max_tokens", "5"}, {"class", "1"}})
        EXPECT_EQ(refusal(key, text), "") << key;
}

}  // namespace
}  // namespace clasp::request
