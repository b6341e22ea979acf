// Languages that the classifier was not taught: recognised, decided by their question words or left to
// Default, and English and Chinese never taken for one of them.
#include "route/languages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "clasp/route.h"
#include "route/embedded.h"
#include "route/model.h"
#include "route/taxonomy.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::route {
namespace {

using testing::HasSubstr;

const Router& builtin() {
    static const Router router = *Router::create();
    return router;
}

const Model& model() {
    static const Model loaded = *Model::load(embedded_model(), Lexicon::builtin());
    return loaded;
}

Tongue tongue_of(const std::string& question) {
    return recognise(*read_question(question), model().profile(), Languages::builtin());
}

std::vector<base::Json> lines_of(const std::string& name) {
    const auto text =
        base::read_file(std::string(test::source_dir()) + "/tests/route/data/" + name, 1u << 20u);
    std::vector<base::Json> lines;
    std::istringstream in(text.value());
    for (std::string line; std::getline(in, line);) lines.push_back(test::parsed(line));
    return lines;
}

TEST(Languages, QuestionWordsDecideInEachLanguage) {
    ASSERT_GE(Languages::builtin().all().size(), 20u);
    for (const Language& language : Languages::builtin().all()) {
        EXPECT_GE(language.matches.size(), 9u) << language.name;
        for (const auto& [intent, question] : language.matches) {
            const RouteDecision decision = builtin().route(question);
            EXPECT_EQ(decision.by, RoutedBy::Rules) << language.name << ": " << question;
            EXPECT_EQ(decision.intent, intent) << language.name << ": " << question << decision.reason;
            // Also where the rule names the default class, in which all the rest would lie.
            EXPECT_NEAR(std::accumulate(decision.scores.begin(), decision.scores.end(), 0.0f), 1.0f, 1e-4f)
                << language.name << ": " << question;
        }
    }
}

// The same asked in other words, as people do.
TEST(Languages, CommonQuestionsAreDecidedHoweverTheyAreWorded) {
    const auto lines = lines_of("foreign.jsonl");
    ASSERT_GE(lines.size(), 15u);
    for (const auto& line : lines) {
        const RouteDecision decision = builtin().route(line["text"].get<std::string>().value());
        EXPECT_EQ(decision.by, RoutedBy::Rules) << line << decision.reason;
        EXPECT_EQ(decision.intent, line["intent"].get<std::string>().value()) << line << decision.reason;
    }
}

TEST(Languages, EveryRuleNamesAnIntentAndHasAQuestion) {
    for (const Language& language : Languages::builtin().all()) {
        for (const Rule& rule : language.rules) {
            EXPECT_TRUE(Taxonomy::builtin().intent_index(rule.intent)) << rule.name;
        }
    }
}

TEST(Languages, OthersGoToDefaultAndSayWhy) {
    const auto lines = lines_of("languages.jsonl");
    ASSERT_GE(lines.size(), 20u);
    for (const auto& line : lines) {
        const RouteDecision decision = builtin().route(line["text"].get<std::string>().value());
        EXPECT_EQ(decision.by, RoutedBy::Fallback) << line << decision.class_name << decision.reason;
        EXPECT_EQ(decision.class_id, builtin().default_class()) << line;
        EXPECT_EQ(decision.confidence, 0.0f) << line;
        EXPECT_THAT(decision.reason, HasSubstr("taught")) << line;
    }
}

TEST(Languages, SlipsNamesAndShortQuestionsStayEnglish) {
    for (const auto& line : lines_of("english.jsonl")) {
        const Tongue tongue = tongue_of(line["text"].get<std::string>().value());
        EXPECT_TRUE(tongue.is_taught) << line << tongue.reason;
    }
}

TEST(Languages, TheTrainingQuestionsThatArePassedOnAreTaught) {
    const auto text = base::read_file(std::string(test::source_dir()) + "/src/route/data/questions.jsonl",
                                      std::size_t{1} << 26u);
    std::istringstream in(text.value());
    std::size_t n = 0;
    std::size_t n_foreign = 0;
    for (std::string line; std::getline(in, line); ++n) {
        const auto json = test::parsed(line);
        if (!tongue_of(json["text"].get<std::string>().value()).is_taught) ++n_foreign;
    }
    EXPECT_LT(1000 * n_foreign, n) << n_foreign << " of " << n;
}

// A question that begins with its verb has no question word, and asks whether something is there.
TEST(Languages, WhetherItIsSomethingIsAskedForAThing) {
    for (const char* question :
         {"Ist das ein Hund?",
          "\xC2\xBF"
          "Es este un perro?",
          "Est-ce un chien ?", "Isto \xC3\xA9 um cachorro?", "\xC3\x88 un cane?", "Is dit een hond?",
          "Czy to pies?", "Bu bir k\xC3\xB6pek mi?", "Apakah ini anjing?", "Je, huyu ni mbwa?",
          "\xD0\xAD\xD1\x82\xD0\xBE \xD1\x81\xD0\xBE\xD0\xB1\xD0\xB0\xD0\xBA\xD0\xB0?"}) {
        const RouteDecision decision = builtin().route(question);
        EXPECT_EQ(decision.class_id, 0) << question << " " << decision.class_name << " " << decision.reason;
        EXPECT_EQ(decision.by, RoutedBy::Rules) << question;
    }
    EXPECT_EQ(builtin().route("Ist das Auto rot?").by, RoutedBy::Fallback)
        << "asks for a quality, not a thing";
}

TEST(Languages, ADoubtfulQuestionIsAskedOfTheChatModel) {
    class Fixed : public IntentChooser {
       public:
        Result<Choice> choose(std::string_view, const std::vector<RouteIntent>&) override {
            return Choice{7, 0.95f, {}};
        }
    };
    RouterOptions options;
    options.kind = RouterKind::Llm;
    options.chooser = std::make_shared<Fixed>();
    const RouteDecision decision = Router::create(options)->route("Hur m\xC3\xA5nga katter finns det?");
    EXPECT_EQ(decision.by, RoutedBy::Llm);
    EXPECT_EQ(decision.intent, "counting");
}

TEST(Languages, AClassifierWithoutAProfileKnowsEverything) {
    const auto words = *read_question("Wie viele Katzen sind auf dem Bild?");
    EXPECT_TRUE(recognise(words, LanguageProfile(), Languages::builtin()).is_taught);
    EXPECT_FALSE(recognise(words, model().profile(), Languages::builtin()).is_taught);
}

TEST(Languages, BadFilesNameTheLanguageAndTheField) {
    const auto message = [](std::string_view json) { return Languages::parse(json).status().message(); };
    EXPECT_THAT(message("{}"), HasSubstr("not a JSON list"));
    EXPECT_THAT(message("[1]"), HasSubstr("not an object"));
    EXPECT_THAT(message(R"([{"name": "Klingon"}])"), HasSubstr("has no text \"code\""));
    EXPECT_THAT(message(R"([{"name": "Klingon", "code": "tlh", "script": "pIqaD", "words": "nuq"}])"),
                HasSubstr("no script"));
    EXPECT_THAT(message(R"([{"name": "K", "code": "k", "script": "Latin", "words": "a", "rules": [{}]}])"),
                HasSubstr("intent"));
    EXPECT_THAT(message(R"([{"name": "K", "code": "k", "script": "Latin", "words": "a",
                             "rules": [{"intent": "i", "patterns": ["a|"]}]}])"),
                HasSubstr("pattern"));
}

TEST(LanguageProfile, IsLearnedFromManyQuestionsOnly) {
    const std::vector<std::vector<Word>> few(10, split_words("wie viele Katzen"));
    EXPECT_TRUE(LanguageProfile::learn(few).is_empty());
    const std::vector<std::vector<Word>> many(1000, split_words("wie viele Katzen"));
    const LanguageProfile profile = LanguageProfile::learn(many);
    EXPECT_TRUE(profile.knows("katzen"));
    EXPECT_FALSE(profile.knows("cats"));
    EXPECT_TRUE(profile.knows(Script::Latin));
    EXPECT_FALSE(profile.knows(Script::Cyrillic));
    EXPECT_TRUE(recognise(split_words("Wie viele?"), profile, Languages::builtin()).is_taught)
        << "a classifier that was taught German is not kept from it";
}

TEST(ChatQuestions, GoWhereTheTaxonomyPutsThem) {
    const auto lines = lines_of("chat_questions.jsonl");
    ASSERT_GE(lines.size(), 60u);
    for (const auto& line : lines) {
        const RouteDecision decision = builtin().route(line["text"].get<std::string>().value());
        EXPECT_EQ(decision.class_id, line["category"].get<int>().value())
            << line << decision.class_name << " " << decision.confidence << " " << decision.reason;
    }
}

}  // namespace
}  // namespace clasp::route
