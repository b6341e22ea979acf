// An answer says what ran: method, masses, policy, budget, and on which side of a layer tokens left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine_fixture.h"
#include "methods/method.h"

namespace clasp {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class WhatRan : public EngineTest {
   protected:
    AskRequest named(const std::string& method) const {
        AskRequest asked = request();
        asked.policy = find_profile("llava").value();
        asked.policy.method = "clasp+";
        asked.policy.mass = MassRule::Nearest;
        asked.method = method;
        asked.budget = {BudgetSpec::Kind::Tokens, 40};
        return asked;
    }
};

TEST_F(WhatRan, ANamedMethodTakesNoMassesFromThePolicy) {
    for (const std::string name : {"clasp", "fastv", "attention", "dart", "random"}) {
        SCOPED_TRACE(name);
        const Answer plain = ask(named(name));
        EXPECT_EQ(plain.mass, MassRule::None);
        EXPECT_EQ(plain.method, name);
        EXPECT_EQ(plain.label, name);
        AskRequest without = named(name);
        without.mass = MassRule::None;
        EXPECT_EQ(plain.logits, ask(without).logits);
    }
}

TEST_F(WhatRan, ThePolicysOwnMethodTakesItsMasses) {
    const Answer own = ask(named(""));
    EXPECT_EQ(own.mass, MassRule::Nearest);
    EXPECT_EQ(own.label, "clasp+");
    EXPECT_EQ(own.logits, ask(named("clasp+")).logits);
    AskRequest attention = named("");
    attention.policy.method = "attention";
    EXPECT_EQ(ask(attention).label, "attention + masses");
    AskRequest merging = named("");
    merging.policy.method = "tome";
    EXPECT_THAT(error_of(merging), HasSubstr("method 'tome' leaves no masses"));
}

TEST_F(WhatRan, AskingForMassesChangesTheName) {
    AskRequest heavy = named("clasp");
    heavy.mass = MassRule::Nearest;
    const Answer with = ask(heavy);
    EXPECT_EQ(with.method, "clasp+");
    EXPECT_EQ(with.label, "clasp+");
    EXPECT_EQ(with.logits, ask(named("clasp+")).logits);
    AskRequest light = named("clasp+");
    light.mass = MassRule::None;
    EXPECT_EQ(ask(light).label, "clasp");
    AskRequest other = named("fastv");
    other.mass = MassRule::Nearest;
    other.method_options = {"layer=3"};
    EXPECT_EQ(ask(other).label, "fastv:layer=3 + masses");
    EXPECT_EQ(ask(other).method, "fastv");
}

TEST_F(WhatRan, NothingPrunedIsCalledNone) {
    AskRequest none = named("fastv");
    none.budget = {BudgetSpec::Kind::None, 0};
    const Answer answer = ask(none);
    EXPECT_EQ(answer.label, "none");
    EXPECT_EQ(answer.mass, MassRule::None);
    EXPECT_EQ(answer.budget.asked, "none");
    EXPECT_EQ(answer.budget.decided, "none");
    EXPECT_THAT(answer.notes, Contains(HasSubstr("method 'fastv' had nothing to choose")));
    AskRequest all = named("clasp");
    all.budget = {BudgetSpec::Kind::Tokens, kTokens};
    EXPECT_EQ(ask(all).label, "none");
    EXPECT_EQ(ask(all).budget.decided, "none");
    EXPECT_THAT(ask(all).budget.reason, HasSubstr("all 64 visual tokens"));
}

TEST_F(WhatRan, StagesTellOnWhichSideOfTheirLayerTokensLeft) {
    const Answer after = ask(named("fastv"));
    ASSERT_EQ(after.stages.size(), 1U);
    EXPECT_EQ(after.stages[0].when, StageMode::After);
    const Answer before = ask(named("clasp"));
    ASSERT_FALSE(before.stages.empty());
    for (const StageReport& stage : before.stages) EXPECT_EQ(stage.when, StageMode::Before);
    // The average tells that fastv's own layer ran on everything: layers 0 and so on up to it are full.
    const double full = static_cast<double>(after.stages[0].layer + 1);
    const double expected = (full * kTokens + (8.0 - full) * static_cast<double>(after.tokens.final)) / 8.0;
    EXPECT_DOUBLE_EQ(after.tokens.average, expected);
}

TEST_F(WhatRan, AutoTellsWhatItDecidedAndWhy) {
    AskRequest automatic = named("clasp");
    automatic.budget = {BudgetSpec::Kind::Auto, 0};
    const Answer answer = ask(automatic);
    EXPECT_EQ(answer.budget.asked, "auto");
    EXPECT_THAT(answer.budget.reason, Not(IsEmpty()));
    EXPECT_THAT(answer.notes, Contains(HasSubstr("budget auto: ")));
    AskRequest again = named("clasp");
    again.budget = parse_budget(answer.budget.decided).value();
    EXPECT_EQ(ask(again).logits, answer.logits);
}

TEST_F(WhatRan, AScheduleThatThePolicyFixesIsTold) {
    AskRequest fixed = named("");
    fixed.policy.forced_stages = {{1, 40}, {3, 20}};
    const Answer answer = ask(fixed);
    EXPECT_EQ(answer.budget.asked, "40");
    EXPECT_EQ(answer.budget.decided, "1:40,3:20");
    EXPECT_THAT(answer.budget.reason, HasSubstr("policy 'llava' fixes its schedule"));
}

// Published counts need three stages: those that a policy names, if it names three, else the usual ones.
TEST_F(WhatRan, ANamedScheduleGoesWithAnyPolicy) {
    AskRequest published = named("");
    published.budget = {};
    published.schedule_name = "paper-64";
    const auto layers_of = [&](std::vector<std::size_t> stage_layers) {
        published.policy.stage_layers = std::move(stage_layers);
        std::vector<std::size_t> layers;
        for (const StageReport& stage : ask(published).stages) layers.push_back(stage.layer);
        return layers;
    };
    EXPECT_THAT(layers_of({}), testing::ElementsAre(1, 2, 4));
    EXPECT_THAT(layers_of({0, 1}), testing::ElementsAre(1, 2, 4));
    EXPECT_THAT(layers_of({2, 3, 5}), testing::ElementsAre(2, 3, 5));
}

TEST_F(WhatRan, ABudgetThatWasMissedIsSaid) {
    AskRequest whole_layers = named("vtw");  // multiples of 8 tokens: 64 over 8 layers
    whole_layers.budget = {BudgetSpec::Kind::Tokens, 28};
    const Answer answer = ask(whole_layers);
    EXPECT_EQ(answer.tokens.average, 32.0);
    EXPECT_THAT(answer.notes, Contains(HasSubstr("averages are multiples of 8")));
    EXPECT_THAT(answer.notes,
                Contains("the budget asks for 28 visual tokens per layer on average, this run had 32"));
    whole_layers.budget = {BudgetSpec::Kind::Tokens, 32};
    EXPECT_THAT(ask(whole_layers).notes, Not(Contains(HasSubstr("the budget asks"))));
}

TEST_F(WhatRan, AModelBringsThePolicyBesideItsFile) {
    EXPECT_EQ(engine().policy().name, "llava");  // there is none
    const std::string beside =
        text_path().substr(0, text_path().size() - std::string(".gguf").size()) + "-policy.json";
    Policy own = find_profile("penultimate").value();
    own.name = "mine";
    ASSERT_TRUE(write_policy(own, beside).ok());
    const EngineOptions options = {.model = text_path(), .mmproj = vision_path(), .n_threads = 1};
    const auto loaded = Engine::load(options);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ((*loaded)->policy().name, "mine");
    const auto answer = (*loaded)->ask(request());
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->policy_name, "mine");
    std::ofstream(beside) << "{";
    EXPECT_THAT(Engine::load(options).status().message(), HasSubstr("the model's own policy"));
    std::filesystem::remove(beside);
}

}  // namespace
}  // namespace clasp
