#include "route/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "route/taxonomy.h"

namespace clasp::route {
namespace {

using testing::HasSubstr;

const Rule* rule_for(std::string_view question) {
    return find_rule(Taxonomy::builtin().rules, *read_question(question));
}

TEST(BuiltinRules, CatchTheirExamplesAndLeaveTheOthers) {
    ASSERT_FALSE(Taxonomy::builtin().rules.empty());
    for (const Rule& rule : Taxonomy::builtin().rules) {
        EXPECT_FALSE(rule.matches.empty()) << rule.name;
        EXPECT_FALSE(rule.misses.empty()) << rule.name;
        EXPECT_GT(rule.reason.size(), 20u) << rule.name;
        for (const std::string& question : rule.matches) {
            const Rule* found = rule_for(question);
            EXPECT_TRUE(found != nullptr && found->name == rule.name) << rule.name << ": " << question;
        }
        for (const std::string& question : rule.misses) {
            const Rule* found = rule_for(question);
            EXPECT_TRUE(found == nullptr || found->name != rule.name) << rule.name << ": " << question;
        }
    }
}

TEST(BuiltinRules, ThePapersExampleIsThere) {
    const Rule* rule = rule_for("Who wrote this novel?");
    ASSERT_NE(rule, nullptr);
    EXPECT_EQ(rule->intent, "text_reading");
}

TEST(ParseRules, NamesTheRuleAndTheField) {
    const auto message = [](std::string_view json) { return parse_rules(json).status().message(); };
    EXPECT_THAT(message("{}"), HasSubstr("not a JSON list"));
    EXPECT_THAT(message("[1]"), HasSubstr("not an object"));
    EXPECT_THAT(message(R"([{"name": "n"}])"), HasSubstr("has no text \"intent\""));
    EXPECT_THAT(message(R"([{"name": "n", "intent": "i", "reason": "r"}])"),
                HasSubstr("has no \"patterns\""));
    EXPECT_THAT(message(R"([{"name": "n", "intent": "i", "reason": "r", "patterns": ["a|"]}])"),
                HasSubstr("pattern"));
    EXPECT_THAT(message(R"([{"name": "n", "intent": "i", "reason": "r", "patterns": [3]}])"),
                HasSubstr("no text"));
    EXPECT_THAT(
        message(R"([{"name": "n", "intent": "i", "reason": "r", "patterns": ["a"], "confidence": 2}])"),
        HasSubstr("confidence"));
    const char* twice = R"([{"name": "n", "intent": "i", "reason": "r", "patterns": ["a"]},
                            {"name": "n", "intent": "i", "reason": "r", "patterns": ["b"]}])";
    EXPECT_THAT(message(twice), HasSubstr("two of that name"));
}

TEST(FindRule, TheFirstThatFitsWinsAndUnlessHoldsItBack) {
    const auto rules = parse_rules(R"([
        {"name": "one", "intent": "i", "reason": "r", "patterns": ["cat"], "unless": ["big cat"]},
        {"name": "two", "intent": "i", "reason": "r", "patterns": ["cat"]}])");
    ASSERT_TRUE(rules.ok());
    EXPECT_EQ(find_rule(*rules, split_words("a cat?"))->name, "one");
    EXPECT_EQ(find_rule(*rules, split_words("a big cat"))->name, "two");
    EXPECT_EQ(find_rule(*rules, split_words("a dog")), nullptr);
    EXPECT_EQ(find_rule(*rules, {}), nullptr);
}

}  // namespace
}  // namespace clasp::route
