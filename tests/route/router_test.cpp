#include "clasp/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace clasp {
namespace {

using testing::HasSubstr;

const Router& builtin() {
    static const Router router = *Router::create();
    return router;
}

struct Known {
    const char* question;
    int class_id;
};

class KnownQuestion : public testing::TestWithParam<Known> {};

TEST_P(KnownQuestion, GoesWhereItBelongs) {
    const RouteDecision decision = builtin().route(GetParam().question);
    EXPECT_EQ(decision.class_id, GetParam().class_id)
        << GetParam().question << " -> " << decision.class_name << " " << decision.confidence;
}

INSTANTIATE_TEST_SUITE_P(
    English, KnownQuestion,
    testing::Values(
        Known{"Is there a bicycle in the image?", 0}, Known{"What animal is this?", 0},
        Known{"What color is the bus?", 1}, Known{"What material is the table made of?", 1},
        Known{"What does the sign say?", 2}, Known{"Who wrote this book?", 2},
        Known{"Describe this image in detail.", 3}, Known{"Is it raining?", 3},
        Known{"What is to the left of the lamp?", 4}, Known{"Is the cat under the table?", 4},
        Known{"How many people are in the picture?", 5}, Known{"Are there three dogs?", 5},
        Known{"What is the man doing?", 6}, Known{"What does the boy do after he sits down?", 6},
        Known{"Why is the woman smiling?", 7}, Known{"What is this tool used for?", 7},
        Known{"Find the value of x.", 8}, Known{"Which of these is a mammal?", 8},
        Known{"What color is the bus?\nA. red\nB. blue\nAnswer with the option's letter from the given "
              "choices directly.",
              1}));

INSTANTIATE_TEST_SUITE_P(
    Chinese, KnownQuestion,
    testing::Values(
        Known{"\xE5\x9B\xBE\xE4\xB8\xAD\xE6\x9C\x89\xE5\xA4\x9A\xE5\xB0\x91\xE4\xBA\xBA\xEF\xBC\x9F",
              5},  // how many people
        Known{"\xE4\xBB\x96\xE4\xB8\xBA\xE4\xBB\x80\xE4\xB9\x88\xE5\x9C\xA8\xE8\xB7\x91\xEF\xBC\x9F",
              7},  // why is he running
        Known{"\xE8\xAF\xB7\xE6\x8F\x8F\xE8\xBF\xB0\xE8\xBF\x99\xE5\xBC\xA0\xE5\x9B\xBE\xE7\x89\x87\xE3\x80"
              "\x82",
              3},  // describe
        Known{"\xE8\xBD\xA6\xE6\x98\xAF\xE4\xBB\x80\xE4\xB9\x88\xE9\xA2\x9C\xE8\x89\xB2\xEF\xBC\x9F",
              1},  // what colour
        Known{"\xE6\xA1\x8C\xE5\xAD\x90\xE5\xB7\xA6\xE8\xBE\xB9\xE6\x98\xAF\xE4\xBB\x80\xE4\xB9\x88\xEF\xBC"
              "\x9F",
              4},  // left of
        Known{"\xE8\xAF\xB7\xE8\xAF\xBB\xE5\x87\xBA\xE5\x9B\xBE\xE4\xB8\xAD\xE7\x9A\x84\xE6\x96\x87\xE5\xAD"
              "\x97\xE3\x80\x82",
              2}));  // read the text

TEST(Router, ADecisionIsWhole) {
    const RouteDecision decision = builtin().route("Is there a zebra next to the fence?");
    EXPECT_EQ(decision.scores.size(), builtin().classes().size());
    EXPECT_NEAR(std::accumulate(decision.scores.begin(), decision.scores.end(), 0.0f), 1.0f, 1e-4f);
    EXPECT_GE(decision.confidence, 0.0f);
    EXPECT_LE(decision.confidence, 1.0f);
    EXPECT_FALSE(decision.intent.empty());
}

TEST(Router, RulesSayThatTheyDecided) {
    const RouteDecision decision = builtin().route("Who wrote this?");
    EXPECT_EQ(decision.by, RoutedBy::Rules);
    EXPECT_EQ(decision.intent, "text_reading");
    EXPECT_THAT(decision.reason, HasSubstr("rule author"));
    EXPECT_NEAR(std::accumulate(decision.scores.begin(), decision.scores.end(), 0.0f), 1.0f, 1e-4f);
}

TEST(Router, HostileTextGoesToDefaultWithAReason) {
    const std::string nul("\0\0\0", 3);
    const std::string deep(60000, '(');
    const std::string words = std::string(200, 'a') + " " + std::string(30000, 'b');
    for (const std::string& text :
         {std::string(), std::string("   "), std::string("?!.,;"), std::string("\xFF\xFE"),
          std::string("what \xC3"), nul, deep, std::string(8u << 20u, 'x')}) {
        const RouteDecision decision = builtin().route(text);
        EXPECT_EQ(decision.class_id, builtin().default_class());
        EXPECT_EQ(decision.by, RoutedBy::Fallback);
        EXPECT_FALSE(decision.reason.empty());
    }
    EXPECT_EQ(builtin().route(words).scores.size(), 9u);
}

TEST(Router, BelowTheThresholdItFallsBack) {
    RouterOptions options;
    options.threshold = 1.0f;
    const auto careful = Router::create(options);
    const RouteDecision decision = careful->route("Is the tower tall?");
    EXPECT_EQ(decision.by, RoutedBy::Fallback);
    EXPECT_EQ(decision.class_id, 8);
    EXPECT_EQ(decision.intent, builtin().route("Is the tower tall?").intent);
    EXPECT_THAT(decision.reason, HasSubstr("is below 1"));
    options.threshold = 0.0f;
    EXPECT_EQ(Router::create(options)->route("of the table or so").by, RoutedBy::Classifier);
    options.threshold = 1.5f;
    EXPECT_FALSE(Router::create(options).ok());
}

TEST(Router, RulesAlone) {
    RouterOptions options;
    options.kind = RouterKind::Rules;
    const auto router = Router::create(options);
    EXPECT_EQ(router->route("Who wrote this?").class_id, 2);
    EXPECT_EQ(router->route("Is the tower tall?").by, RoutedBy::Fallback);
}

TEST(Router, ForcedByIdOrName) {
    EXPECT_EQ(builtin().forced("5")->class_name, "Counting");
    EXPECT_EQ(builtin().forced("spatial RELATIONS")->class_id, 4);
    EXPECT_EQ(builtin().forced("5")->by, RoutedBy::Forced);
    EXPECT_EQ(builtin().forced("nine").status().code(), Code::NotFound);
    EXPECT_THAT(builtin().forced("nine").status().message(), HasSubstr("5 Counting"));
}

TEST(Router, ExplainsWithFeatures) {
    const RouteExplanation explanation = builtin().explain("How many cats are on the sofa?", 5);
    EXPECT_EQ(explanation.words.front(), "how");
    ASSERT_EQ(explanation.evidence.size(), 5u);
    EXPECT_GT(explanation.evidence[0].weight, 0.0f);
    for (std::size_t i = 1; i < 5; ++i) {
        EXPECT_GE(std::abs(explanation.evidence[i - 1].weight), std::abs(explanation.evidence[i].weight));
    }
    EXPECT_EQ(explanation.decision.class_id, builtin().route("How many cats are on the sofa?").class_id);
    EXPECT_TRUE(builtin().explain("\xFF").evidence.empty());
}

constexpr const char* kUserTaxonomy = R"({
    "version": 1, "name": "shop", "default": 20,
    "classes": [{"id": 10, "name": "price"}, {"id": 11, "name": "fit"}, {"id": 20, "name": "other"}],
    "rules": [{"name": "vat", "intent": "price", "reason": "tax is part of the price", "patterns": ["vat"]}],
    "examples": [
        {"text": "How much is this shirt?", "category": 10}, {"text": "What does it cost?", "category": 10},
        {"text": "Is it expensive?", "category": 10}, {"text": "What is the price of the shoes?", "category": 10},
        {"text": "Does it fit me?", "category": 11}, {"text": "Is this too small?", "category": 11},
        {"text": "Which size do I need?", "category": 11}, {"text": "Is the jacket too tight?", "category": 11}]})";

TEST(UserTaxonomy, OwnClassesRulesAndExamples) {
    RouterOptions options;
    options.taxonomy_json = kUserTaxonomy;
    const auto router = Router::create(options);
    ASSERT_TRUE(router.ok()) << router.status().message();
    EXPECT_EQ(router->default_class(), 20);
    EXPECT_EQ(router->route("Does that include VAT?").by, RoutedBy::Rules);
    EXPECT_EQ(router->route("What is the price of this shirt?").class_name, "price");
    EXPECT_EQ(router->route("Is the shirt too small?").class_id, 11);
    EXPECT_EQ(router->route("").class_id, 20);
    EXPECT_EQ(router->forced("fit")->class_id, 11);
}

TEST(UserTaxonomy, OwnClassesOnBuiltinIntentsKeepTheClassifier) {
    RouterOptions options;
    options.taxonomy_json = R"({"version": 1, "name": "two", "default": 1,
        "classes": [{"id": 0, "name": "numbers"}, {"id": 1, "name": "rest"}],
        "intents": [{"name": "counting", "class": 0}, {"name": "arithmetic_reasoning", "class": 0}]})";
    const auto router = Router::create(options);
    ASSERT_TRUE(router.ok()) << router.status().message();
    EXPECT_EQ(router->route("How many birds are there?").class_name, "numbers");
    EXPECT_EQ(router->route("How many times does he jump?").by, RoutedBy::Rules);
    EXPECT_EQ(router->route("What color is the bird?").class_name, "rest");
}

TEST(UserTaxonomy, OneClassIsAlwaysCertain) {
    RouterOptions options;
    options.taxonomy_json = R"({"version": 1, "name": "one", "default": 0,
        "classes": [{"id": 0, "name": "all"}],
        "rules": [{"name": "tax", "intent": "all", "reason": "r", "patterns": ["vat"], "confidence": 0.7}]})";
    const auto router = Router::create(options);
    ASSERT_TRUE(router.ok()) << router.status().message();
    const RouteDecision decision = router->route("vat?");
    EXPECT_EQ(decision.by, RoutedBy::Rules);
    EXPECT_EQ(decision.scores, std::vector<float>{1.0f});
    EXPECT_EQ(decision.confidence, 1.0f);
}

TEST(UserTaxonomy, WithNothingToDecideByIsRefused) {
    RouterOptions options;
    options.taxonomy_json =
        R"({"version": 1, "name": "t", "default": 0, "classes": [{"id": 0, "name": "a"}]})";
    EXPECT_EQ(Router::create(options).status().code(), Code::InvalidArgument);
    options.taxonomy_json = "{";
    EXPECT_FALSE(Router::create(options).ok());
    options = {};
    options.model_bytes = "nonsense";
    EXPECT_EQ(Router::create(options).status().code(), Code::Corrupt);
}

class FixedChooser : public IntentChooser {
   public:
    explicit FixedChooser(Result<Choice> answer) : answer_(std::move(answer)) {}
    Result<Choice> choose(std::string_view, const std::vector<RouteIntent>&) override {
        ++n_calls;
        return answer_;
    }
    std::atomic<int> n_calls = 0;

   private:
    Result<Choice> answer_;
};

TEST(LlmRouter, AsksOncePerQuestion) {
    const auto chooser = std::make_shared<FixedChooser>(IntentChooser::Choice{7, 0.95f});
    RouterOptions options;
    options.kind = RouterKind::Llm;
    options.chooser = chooser;
    const auto router = Router::create(options);
    const RouteDecision decision = router->route("Is the tower tall?");
    EXPECT_EQ(decision.by, RoutedBy::Llm);
    EXPECT_EQ(decision.intent, "counting");
    EXPECT_EQ(router->route("Is the tower tall?").by, RoutedBy::Llm);
    EXPECT_EQ(chooser->n_calls, 1);
    EXPECT_EQ(router->route("Who wrote this?").by, RoutedBy::Rules);
}

TEST(LlmRouter, AnUnsureModelLeavesItToTheClassifierIfThatOneIsSure) {
    RouterOptions options;
    options.kind = RouterKind::Llm;
    const std::size_t n_intents = Router::create(RouterOptions())->intents().size();
    const float rest = 0.4f / static_cast<float>(n_intents - 1);
    IntentChooser::Choice unsure{7, 0.6f, std::vector<float>(n_intents, rest)};
    unsure.scores[7] = 0.6f;
    options.chooser = std::make_shared<FixedChooser>(unsure);
    const auto router = Router::create(options);
    const RouteDecision decision = router->route("What breed is the dog?");
    EXPECT_EQ(decision.by, RoutedBy::Classifier);
    EXPECT_EQ(decision.class_id, 1);
    EXPECT_EQ(decision.confidence, decision.scores[1]);
    EXPECT_FALSE(decision.model_failed);
    EXPECT_THAT(decision.reason, HasSubstr("router model unsure (confidence 0.6 for Counting is below"));
    // Neither knows: the chat model's scores and words stand.
    const RouteDecision neither = router->route("Hur m\xC3\xA5nga katter finns det?");
    EXPECT_EQ(neither.by, RoutedBy::Fallback);
    EXPECT_EQ(neither.class_id, router->default_class());
    EXPECT_EQ(neither.confidence, 0.6f);
    EXPECT_THAT(neither.reason, HasSubstr("for Counting is below"));
}

TEST(LlmRouter, FailureOrNonsenseUsesTheClassifier) {
    for (const Result<IntentChooser::Choice>& answer :
         {Result<IntentChooser::Choice>(Status(Code::Deadline, "took too long")),
          Result<IntentChooser::Choice>(IntentChooser::Choice{99, 0.5f})}) {
        RouterOptions options;
        options.kind = RouterKind::Llm;
        options.chooser = std::make_shared<FixedChooser>(answer);
        const RouteDecision decision = Router::create(options)->route("Is there a bicycle in the image?");
        EXPECT_EQ(decision.by, RoutedBy::Classifier);
        EXPECT_EQ(decision.class_id, 0);
        EXPECT_THAT(decision.reason, HasSubstr("router model failed"));
    }
    RouterOptions options;
    options.kind = RouterKind::Llm;
    EXPECT_FALSE(Router::create(options).ok());
}

}  // namespace
}  // namespace clasp
