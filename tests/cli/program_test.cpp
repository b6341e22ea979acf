#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/command.h"
#include "cli/help.h"
#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::HasSubstr;

TEST(Program, WithoutACommandItExplainsItselfAsWrongUsage) {
    const Outcome result = run({});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("Usage: clasp-vlm COMMAND"));
}

TEST(Program, UnknownCommandsAndOptionsAreWrongUsage) {
    EXPECT_EQ(run({"prune"}).code, 2);
    EXPECT_THAT(run({"prune"}).err, HasSubstr("there is no command 'prune'"));
    const Outcome result = run({"schedule", "--tokens", "576", "--layers", "32", "--bugdet", "192"});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(
        result.err,
        "clasp-vlm schedule: unknown option --bugdet (did you mean '--budget'?); see 'clasp-vlm schedule "
        "--help'\n");
    EXPECT_EQ(result.out, "");
}

TEST(Program, MistypedCommandsAreRecognised) {
    for (const auto& words : {std::vector<std::string>{"schedul"}, {"help", "schedul"}}) {
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err, HasSubstr("there is no command 'schedul' (did you mean 'schedule'?)"));
    }
    EXPECT_THAT(run({"help", "--makrdown"}).err, HasSubstr("did you mean '--markdown'?"));
    EXPECT_EQ(run({"--budget", "3"}).code, 2);
    EXPECT_THAT(run({"--budget", "3"}).err, HasSubstr("options follow a command"));
}

TEST(Program, HelpAndVersionAreFoundInEverySpelling) {
    for (const char* word : {"help", "--help", "-h"}) {
        const Outcome result = run({word});
        EXPECT_EQ(result.code, 0);
        EXPECT_THAT(result.out, HasSubstr("Try first"));
    }
    const std::string version = run({"--version"}).out;
    EXPECT_THAT(version, HasSubstr("clasp-vlm 0."));
    for (const auto& words :
         {std::vector<std::string>{"-V"}, {"version"}, {"route", "-V"}, {"route", "--version"}}) {
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.out, version);
    }
    EXPECT_TRUE(test::parsed(run({"--version", "--json"}).out).contains("version"));
    EXPECT_EQ(run({"help", "route"}).out, run({"route", "-h"}).out);
    for (const auto& words : {std::vector<std::string>{"help", "route", "ask"},
                              {"help", "--json", "--man"},
                              {"--version", "now"},
                              {"-V", "--help"}}) {
        const Outcome result = run(words);
        EXPECT_EQ(result.code, 2) << words.back();
        EXPECT_THAT(result.err, HasSubstr("unexpected argument '" + words.back() + "'"));
        EXPECT_EQ(result.out, "");
    }
}

// With --json a reader of standard output gets one object, whatever goes wrong.
TEST(Program, WhatCannotBeWrittenIsAFailureOfEveryCommand) {
    const std::vector<std::vector<std::string_view>> cases = {
        {"--help"}, {"help", "route"},     {"help", "--man"}, {"route", "-h"},
        {"-V"},     {"version", "--json"}, {"methods"},       {"policy", "list", "--json"}};
    for (const auto& words : cases) {
        std::ofstream full("/dev/full");
        std::ostringstream err;
        Console console{.out = full, .err = err};
        EXPECT_EQ(run_program(words, console), 1) << words[0];
        EXPECT_THAT(err.str(), HasSubstr("could not write the result to standard output\n")) << words[0];
    }
}

TEST(Program, FailuresAreJsonToo) {
    struct Case {
        std::vector<std::string> words;
        int code;
        std::string kind;
    };
    const std::vector<Case> cases = {
        {{"prune", "--json"}, 2, "invalid_argument"},
        {{"route", "What?", "--bugdet", "3", "--json"}, 2, "invalid_argument"},
        {{"route", "-j"}, 2, "invalid_argument"},
        {{"route", "--file", "no-such-file", "--json"}, 1, "not_found"},
        {{"schedule", "--tokens", "576", "--layers", "32", "--budget", "-3", "--json"},
         2,
         "invalid_argument"},
        {{"schedule", "--tokens", "576", "--layers", "32", "--budget", "20", "--json"},
         1,
         "invalid_argument"},
        {{"methods", "nosuch", "--json"}, 2, "not_found"},
    };
    for (const Case& entry : cases) {
        const Outcome result = run(entry.words);
        EXPECT_EQ(result.code, entry.code) << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
        const auto json = test::parsed(result.out);
        EXPECT_EQ(json["error"]["code"], entry.kind);
        EXPECT_FALSE(json["error"]["message"].get<std::string>().value().empty());
    }
}

TEST(Program, AFailureInTheMiddleOfJsonLinesIsTheLastLine) {
    const std::string path = std::string(test::scratch_dir()) + "/half.jsonl";
    std::ofstream(path) << R"({"text":"How many dogs are there?"})"
                        << "\n{nonsense\n";
    const Outcome result = run({"route", "--file", path, "--json"});
    EXPECT_EQ(result.code, 1);
    std::istringstream lines(result.out);
    std::string first;
    std::string second;
    ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second));
    EXPECT_EQ(test::parsed(first)["id"], 5);
    EXPECT_EQ(test::parsed(second)["error"]["code"], "corrupt");
}

// Values that only a second look finds out are wrong usage all the same.
TEST(Program, ValuesThatCannotBeAreWrongUsage) {
    const std::vector<std::string> schedule = {"schedule", "--tokens", "576", "--layers", "32"};
    for (const auto& more : std::vector<std::vector<std::string>>{{"--budget", "-3"},
                                                                  {"--budget", "many"},
                                                                  {"--schedule", "nonsense"},
                                                                  {"--schedule", "paper-65"},
                                                                  {"--schedule", "2:x"},
                                                                  {"--budget", "64", "--stages", "6,2"}}) {
        std::vector<std::string> words = schedule;
        words.insert(words.end(), more.begin(), more.end());
        EXPECT_EQ(run(words).code, 2) << more[1];
    }
    EXPECT_THAT(run({"schedule", "--tokens", "576", "--layers", "32", "--schedule", "paper-65"}).err,
                HasSubstr("did you mean 'paper-64'?"));
    EXPECT_EQ(run({"schedule", "--tokens", "576", "--layers", "32", "--schedule", "PAPER-64"}).code, 0);
}

TEST(Program, EveryCommandHelpsAndTakesJson) {
    for (const Command& command : commands()) {
        const Outcome help = run({std::string(command.name), "--help"});
        EXPECT_EQ(help.code, 0);
        EXPECT_THAT(help.out, HasSubstr("Usage: clasp-vlm " + std::string(command.name)));
        EXPECT_THAT(help.out, HasSubstr("--json"));
    }
}

TEST(Program, TheOptionTableIsSound) {
    for (const Command& command : commands()) {
        std::set<std::string_view> names;
        std::set<char> letters;
        for (const Option& option : full_options(command)) {
            if (option.short_name != 0) {
                EXPECT_TRUE(letters.insert(option.short_name).second)
                    << command.name << " has two options -" << option.short_name;
            }
            EXPECT_EQ(option.extensions.empty() || option.writes == Writes::File, true) << option.name;
            EXPECT_TRUE(names.insert(option.name).second)
                << command.name << " has two options " << option.name;
            EXPECT_FALSE(option.help.empty()) << option.name;
            EXPECT_EQ(option.type == OptionType::Flag, option.value.empty()) << option.name;
            EXPECT_EQ(option.type == OptionType::Choice, !option.choices.empty()) << option.name;
            if (option.fallback.empty()) continue;
            const std::vector<Option> one = {option};
            const std::vector<std::string> word = {"--" + std::string(option.name) + "=" +
                                                   std::string(option.fallback)};
            const std::vector<std::string_view> words = {word[0]};
            EXPECT_TRUE(Arguments::parse(one, {}, words).ok())
                << "the default of --" << option.name << " is refused";
        }
    }
}

TEST(Program, LettersShowInEveryFormOfHelp) {
    EXPECT_THAT(run({"schedule", "--help"}).out, HasSubstr("-b, --budget R|P%|none"));
    EXPECT_THAT(table_as_markdown(), HasSubstr("`-b, --budget"));
    EXPECT_THAT(run({"help", "--man"}).out, HasSubstr("\\-b, \\-\\-budget"));
    const auto json = test::parsed(run({"help", "--json"}).out);
    bool is_there = false;
    for (const auto& command : json["commands"]) {
        for (const auto& option : command["options"]) {
            if (option["name"] == "json") is_there = option["short"] == "j";
        }
    }
    EXPECT_TRUE(is_there);
}

TEST(Program, HelpAsJsonDescribesEveryOption) {
    const auto json = test::parsed(run({"help", "--json"}).out);
    ASSERT_EQ(json["commands"].size(), commands().size());
    for (std::size_t i = 0; i < commands().size(); ++i) {
        EXPECT_EQ(json["commands"][i]["options"].size(), full_options(commands()[i]).size());
    }
}

// The page lists the commands of a whole build.
#ifdef CLASP_HAS_ENGINE
TEST(Program, TheReferencePageIsUpToDate) {
    std::ifstream page(std::string(test::source_dir()) + "/docs/reference/cli.md");
    std::ostringstream text;
    text << page.rdbuf();
    EXPECT_EQ(text.str(), table_as_markdown()) << "run: clasp-vlm help --markdown > docs/reference/cli.md";
}
#endif

TEST(Schedule, PublishedBudgetsAnswerAsTheContractSays) {
    const Outcome result =
        run({"schedule", "--tokens", "576", "--layers", "32", "--budget", "192", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto json = test::parsed(result.out);
    EXPECT_EQ(base::dump_json(json["stages"]),
              R"([{"keep":300,"layer":2},{"keep":200,"layer":6},{"keep":110,"layer":15}])");
    EXPECT_NEAR(json["average"].get<double>().value(), 188.2, 0.05);
    EXPECT_GT(json["flops_ratio"].get<double>().value(), 0.3);
    EXPECT_LT(json["flops_ratio"].get<double>().value(), 0.35);
}

TEST(Schedule, ImpossibleBudgetsFailWithTheSmallestPossible) {
    const Outcome result = run({"schedule", "--tokens", "576", "--layers", "32", "--budget", "20", "--json"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.out, HasSubstr("smallest"));
    EXPECT_THAT(result.err, HasSubstr("smallest"));
}

TEST(Schedule, AStageAtTheStartIsOneRow) {
    const Outcome result = run({"schedule", "--tokens", "576", "--layers", "16", "--budget", "64", "--stages",
                                "0,1", "--shape", "4,1"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("from there on\n    0  214\n    1  54\naverage 64.0"));
}

TEST(Schedule, OptionsThatExcludeEachOtherAreRefused) {
    const Outcome result =
        run({"schedule", "--tokens", "576", "--layers", "32", "--budget", "20", "--schedule", "paper-64"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace clasp::cli
