#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/command.h"
#include "cli/help.h"
#include "run_program.h"
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
    EXPECT_EQ(result.err, "clasp-vlm schedule: unknown option --bugdet (see 'clasp-vlm schedule --help')\n");
    EXPECT_EQ(result.out, "");
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
        for (const Option& option : full_options(command)) {
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

TEST(Program, HelpAsJsonDescribesEveryOption) {
    const auto json = nlohmann::json::parse(run({"help", "--json"}).out);
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
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["stages"].dump(),
              R"([{"keep":300,"layer":2},{"keep":200,"layer":6},{"keep":110,"layer":15}])");
    EXPECT_NEAR(json["average"].get<double>(), 188.2, 0.05);
    EXPECT_GT(json["flops_ratio"].get<double>(), 0.3);
    EXPECT_LT(json["flops_ratio"].get<double>(), 0.35);
}

TEST(Schedule, ImpossibleBudgetsFailWithTheSmallestPossible) {
    const Outcome result = run({"schedule", "--tokens", "576", "--layers", "32", "--budget", "20", "--json"});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.out, "");
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
