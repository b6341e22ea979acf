#include "cli/arguments.h"

#include <gtest/gtest.h>

namespace clasp::cli {
namespace {

const std::vector<Option> kOptions = {
    {.name = "budget",
     .type = OptionType::Integer,
     .value = "N",
     .help = "tokens",
     .min = 1,
     .max = 100,
     .short_name = 'b'},
    {.name = "split",
     .type = OptionType::Number,
     .value = "A",
     .fallback = "0.5",
     .help = "share",
     .min = 0,
     .max = 1},
    {.name = "mode",
     .type = OptionType::Choice,
     .value = "M",
     .help = "how",
     .choices = {"fast", "slow", "exact"},
     .short_name = 'm'},
    {.name = "layer", .type = OptionType::Text, .value = "L", .help = "layers", .is_repeatable = true},
    {.name = "verbose", .help = "say more", .short_name = 'v'},
    {.name = "quiet", .help = "say less", .short_name = 'q'},
};

Result<Arguments> parse(std::vector<std::string_view> words, std::vector<Positional> positionals = {}) {
    return Arguments::parse(kOptions, positionals, words);
}

std::string error_of(std::vector<std::string_view> words, std::vector<Positional> positionals = {}) {
    return parse(std::move(words), std::move(positionals)).status().message();
}

TEST(Arguments, ReadsBothSpellingsAndDefaults) {
    const auto arguments = parse({"--budget", "7", "--mode=slow", "--layer", "a", "--layer=b", "--verbose"});
    ASSERT_TRUE(arguments.ok());
    EXPECT_EQ(arguments->integer("budget"), 7);
    EXPECT_EQ(arguments->text("mode"), "slow");
    EXPECT_EQ(arguments->all("layer"), (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(arguments->flag("verbose"));
    EXPECT_DOUBLE_EQ(arguments->number("split"), 0.5);
    EXPECT_FALSE(arguments->is_given("split"));
}

TEST(Arguments, SaysWhatAnOptionTakes) {
    EXPECT_EQ(error_of({"--budget", "0"}), "option --budget takes a whole number from 1 to 100, not '0'");
    EXPECT_EQ(error_of({"--budget", "7x"}), "option --budget takes a whole number from 1 to 100, not '7x'");
    EXPECT_EQ(error_of({"--split", "nan"}), "option --split takes a number from 0 to 1, not 'nan'");
    EXPECT_EQ(error_of({"--mode", "quick"}), "option --mode takes fast, slow or exact, not 'quick'");
    EXPECT_EQ(error_of({"--mode", "fsat"}),
              "option --mode takes fast, slow or exact, not 'fsat' (did you mean 'fast'?)");
    EXPECT_EQ(error_of({"--budget"}), "option --budget needs a value N");
    EXPECT_EQ(error_of({"-b"}), "option -b needs a value N");
    EXPECT_EQ(error_of({"--budget", "--verbose"}),
              "option --budget needs a value N, and --verbose is an option itself");
    EXPECT_EQ(error_of({"--layer="}), "option --layer takes a value that is not empty");
}

TEST(Arguments, NothingIsIgnoredInSilence) {
    EXPECT_EQ(error_of({"--bugdet", "7"}), "unknown option --bugdet (did you mean '--budget'?)");
    EXPECT_EQ(error_of({"--nonsense=7"}), "unknown option --nonsense");
    EXPECT_EQ(error_of({"-x"}), "unknown option -x");
    EXPECT_EQ(error_of({"-layer", "3"}), "unknown option -layer (did you mean '--layer'?)");
    EXPECT_EQ(error_of({"--budget", "7", "--budget", "8"}), "option --budget was given twice");
    EXPECT_EQ(error_of({"--verbose=yes"}), "option --verbose takes no value");
    EXPECT_EQ(error_of({"stray"}), "unexpected argument 'stray'");
}

TEST(Arguments, RequiredOptionsAreRequired) {
    const std::vector<Option> options = {
        {.name = "out", .type = OptionType::File, .value = "FILE", .help = "result", .is_required = true}};
    EXPECT_EQ(Arguments::parse(options, {}, {}).status().message(), "option --out FILE is required (result)");
}

TEST(Arguments, LastWordsGoToTheLastPositionals) {
    const std::vector<Positional> positionals = {{"IMAGE", "pictures", 1, 8}, {"QUESTION", "text", 1, 1}};
    const auto one = parse({"a.png", "What?"}, positionals);
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(one->positional("IMAGE"), (std::vector<std::string>{"a.png"}));
    EXPECT_EQ(one->positional("QUESTION"), (std::vector<std::string>{"What?"}));
    const auto three = parse({"a.png", "--verbose", "b.png", "c.png", "What?"}, positionals);
    ASSERT_TRUE(three.ok());
    EXPECT_EQ(three->positional("IMAGE").size(), 3U);
    EXPECT_EQ(error_of({"a.png"}, positionals), "missing QUESTION (text)");
}

TEST(Arguments, LettersStandForOptions) {
    const auto apart = parse({"-b", "7", "-m", "slow", "-v"});
    ASSERT_TRUE(apart.ok()) << apart.status().message();
    EXPECT_EQ(apart->integer("budget"), 7);
    EXPECT_EQ(apart->text("mode"), "slow");
    EXPECT_TRUE(apart->flag("verbose"));
    const auto joined = parse({"-vqb7", "-mexact"});
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    EXPECT_EQ(joined->integer("budget"), 7);
    EXPECT_EQ(joined->text("mode"), "exact");
    EXPECT_TRUE(joined->flag("verbose"));
    EXPECT_TRUE(joined->flag("quiet"));
    EXPECT_EQ(error_of({"-b", "7", "--budget", "8"}), "option --budget was given twice");
}

TEST(Arguments, LetterCaseOfChoicesDoesNotMatter) {
    EXPECT_EQ(parse({"--mode", "FAST"})->text("mode"), "fast");
    const std::vector<Positional> shells = {{.name = "SHELL", .help = "which", .choices = {"bash", "zsh"}}};
    EXPECT_EQ(parse({"Bash"}, shells)->positional("SHELL").front(), "bash");
    EXPECT_EQ(error_of({"bahs"}, shells), "SHELL takes bash or zsh, not 'bahs' (did you mean 'bash'?)");
}

TEST(Arguments, TwoDashesEndTheOptionsAndNegativeNumbersAreWords) {
    const std::vector<Positional> positionals = {{"WORD", "any", 1, 4}};
    const auto arguments = parse({"-3", "--", "--budget"}, positionals);
    ASSERT_TRUE(arguments.ok());
    EXPECT_EQ(arguments->positional("WORD"), (std::vector<std::string>{"-3", "--budget"}));
}

}  // namespace
}  // namespace clasp::cli
