#include "route/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "route/taxonomy.h"
#include "support/paths.h"

namespace clasp::route {
namespace {

using testing::HasSubstr;

TEST(ParseQuestions, ReadsWhatIsThere) {
    const auto questions = parse_questions(
        "{\"text\": \"a\", \"benchmark\": \"B\", \"category\": 3, \"intent\": \"description\"}\n\n"
        "{\"text\": \"b\", \"category\": null}\r\n");
    ASSERT_TRUE(questions.ok());
    ASSERT_EQ(questions->size(), 2u);
    EXPECT_EQ((*questions)[0].class_id, 3);
    EXPECT_EQ((*questions)[0].intent, "description");
    EXPECT_EQ((*questions)[1].class_id, std::nullopt);
}

TEST(ParseQuestions, NamesTheLine) {
    for (const char* bad :
         {"[]", "{", "{\"text\": 1}", "{\"txt\": \"a\"}", "{\"text\": \"a\", \"category\": \"x\"}",
          "{\"text\": \"a\", \"category\": -1}", "{\"text\": \"a\", \"category\": 4.44e71}",
          "{\"text\": \"a\", \"category\": -4.44e71}", "{\"text\": \"a\", \"category\": 1.5}",
          "{\"text\": \"a\", \"category\": 18446744073709551615}", "{\"text\": \"a\", \"intent\": 2}"}) {
        const auto questions = parse_questions("{\"text\": \"ok\"}\n" + std::string(bad));
        EXPECT_THAT(questions.status().message(), HasSubstr("line 2")) << bad;
    }
}

// The files that the shipped classifier was trained on.
TEST(TrainingData, LabelsAgreeWithTheTaxonomy) {
    const Taxonomy& taxonomy = Taxonomy::builtin();
    for (const char* name : {"questions.jsonl", "own.jsonl"}) {
        std::ifstream file(std::string(test::source_dir()) + "/src/route/data/" + name);
        std::stringstream text;
        text << file.rdbuf();
        const auto questions = parse_questions(text.str());
        ASSERT_TRUE(questions.ok()) << questions.status().message();
        EXPECT_GT(questions->size(), 500u);
        std::vector<std::size_t> per_intent(taxonomy.intents.size(), 0);
        for (const Question& question : *questions) {
            if (question.intent.empty()) continue;
            const auto intent = taxonomy.intent_index(question.intent);
            ASSERT_TRUE(intent.has_value()) << question.intent;
            EXPECT_EQ(taxonomy.intents[*intent].class_id, question.class_id) << question.text;
            ++per_intent[*intent];
        }
        for (std::size_t i = 0; i < per_intent.size(); ++i)
            EXPECT_GT(per_intent[i], 0u) << taxonomy.intents[i].name;
    }
}

}  // namespace
}  // namespace clasp::route
