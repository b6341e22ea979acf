// Normalisation, tables and answer files: the parts that every benchmark stands on.
#include <gmock/gmock.h>

#include <array>

#include "eval/table.h"
#include "eval/vqa_accuracy.h"
#include "fixture.h"

namespace clasp::eval {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Normalised {
    const char* input;
    const char* m4c;
    const char* v2;
};

TEST(Normalisation, PublishedCases) {
    constexpr std::array kCases = {
        Normalised{"The Cat.", "cat", "cat"},
        Normalised{"an apple, red", "apple red", "apple red"},
        Normalised{"2,000", "2000", "2000"},
        Normalised{"1,2", "12", "12"},
        Normalised{"one, two", "1 2", "1 2"},
        Normalised{"eleven", "eleven", "eleven"},
        Normalised{"None", "0", "0"},
        Normalised{"a", "", ""},
        Normalised{"3.5", "3.5", "3.5"},
        Normalised{"3.", "3", "3"},
        Normalised{"U.S.A.", "usa", "usa"},
        Normalised{"$5.00", "$5.00", "$5.00"},
        Normalised{"dont", "don't", "don't"},
        Normalised{"oclock", "o'clock", "o'clock"},
        Normalised{"yes/no", "yes no", "yes no"},
        Normalised{"yes / no", "yes no", "yes no"},
        Normalised{"T-shirt", "t shirt", "t shirt"},
        Normalised{"black - white", "black white", "black white"},
        Normalised{"12:30", "12:30", "12:30"},
        Normalised{"Im", "im", "im"},
        Normalised{"man's hat", "man 's hat", "man's hat"},
        Normalised{"it's", "it 's", "it's"},
    };
    for (const Normalised& example : kCases) {
        EXPECT_EQ(normalise_m4c(example.input), example.m4c) << example.input;
        EXPECT_EQ(normalise_v2(example.input), example.v2) << example.input;
    }
}

TEST(Normalisation, ContractionsOfAllThreeKinds) {
    EXPECT_EQ(normalise_v2("hed've"), "he'd've");
    EXPECT_EQ(normalise_v2("he'dve"), "he'd've");
    EXPECT_EQ(normalise_v2("somebody'd"), "somebodyd");
    EXPECT_EQ(normalise_v2("yall'd've"), "y'all'd've");
    EXPECT_EQ(normalise_v2("twas"), "'twas");
    EXPECT_EQ(normalise_v2("ive"), "ive");  // the key has a capital and cannot match
}

TEST(Normalisation, MarksLookAtTheWholeTextAndStopsAreCounted) {
    EXPECT_EQ(normalise_v2("a-b c- d"), "ab c d");  // one dash touches a space, so all vanish
    EXPECT_EQ(normalise_v2("1,000 a-b"), "1000 ab");
    EXPECT_EQ(normalise_v2("red\tcar\nhere"), "red car here");
    const std::string forty(40, '.');
    EXPECT_EQ(normalise_v2("x" + forty), "x........");  // 32 are removed
}

TEST(Normalisation, CaseAndBlanksBeyondAscii) {
    EXPECT_EQ(normalise_m4c("CAF\xC3\x89"), "caf\xC3\xA9");
    EXPECT_EQ(normalise_m4c("red\xC2\xA0"
                            "car"),
              "red car");
    EXPECT_EQ(normalise_m4c("\xFFok"), "\xFFok");  // not UTF-8: kept
}

TEST(VqaAccuracy, DependsOnTheNumberOfEqualAnswers) {
    const std::vector<std::string> answers = {"red",    "red",  "red",  "dark red", "dark red",
                                              "maroon", "blue", "blue", "blue",     "blue"};
    EXPECT_DOUBLE_EQ(vqa_accuracy_m4c("Red", answers), 0.9);
    EXPECT_DOUBLE_EQ(vqa_accuracy_m4c("dark red", answers), 0.6);
    EXPECT_DOUBLE_EQ(vqa_accuracy_v2("maroon", answers), 0.3);
    EXPECT_DOUBLE_EQ(vqa_accuracy_v2("the blue", answers), 1.0);
    EXPECT_DOUBLE_EQ(vqa_accuracy_v2("green", answers), 0.0);
}

// The definition itself: leave one annotator out, count the others, average.
TEST(VqaAccuracy, AgreesWithItsDefinition) {
    for (std::size_t n_equal = 0; n_equal <= 10; ++n_equal) {
        double sum = 0.0;
        for (std::size_t left_out = 0; left_out < 10; ++left_out) {
            const double others = static_cast<double>(n_equal) - (left_out < n_equal ? 1.0 : 0.0);
            sum += std::min(others / 3.0, 1.0);
        }
        EXPECT_NEAR(agreement_score(n_equal), sum / 10.0, 1e-12) << n_equal;
    }
}

TEST(VqaAccuracy, V2ComparesAsWrittenWhereAllAgree) {
    const std::vector<std::string> same(10, "yes");
    EXPECT_DOUBLE_EQ(vqa_accuracy_v2("yes\n", same), 1.0);
    EXPECT_DOUBLE_EQ(vqa_accuracy_v2("Yes", same), 0.0);
    EXPECT_DOUBLE_EQ(vqa_accuracy_m4c("Yes", same), 1.0);
}

TEST(Table, QuotesNewlinesAndOffsets) {
    const std::string text = "a\tb\tc\n1\t\"x\ty \"\"z\"\"\nw\"\t3\r\n\n4\t\t6";
    auto table = TableReader::open(text, '\t');
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->column("c"), 2U);
    EXPECT_FALSE(table->column("d"));
    auto first = table->next();
    ASSERT_TRUE(first.ok() && first->has_value());
    EXPECT_EQ((**first)[1].text(), "x\ty \"z\"\nw");
    EXPECT_EQ((**first)[2].text(), "3");
    EXPECT_EQ(text.substr((**first)[0].offset, 1), "1");
    auto second = table->next();
    ASSERT_TRUE(second.ok() && second->has_value());
    EXPECT_EQ(table->line(), 5U);
    EXPECT_EQ((**second)[1].text(), "");
    EXPECT_EQ((**second)[2].text(), "6");
    EXPECT_FALSE(table->next().value().has_value());
}

TEST(Table, BrokenOnesAreNamed) {
    EXPECT_THAT(TableReader::open("", ',').status().message(), HasSubstr("empty"));
    EXPECT_THAT(TableReader::open("a,a\n", ',').status().message(), HasSubstr("stands twice"));
    auto ragged = TableReader::open("a,b\n1,2,3\n", ',').value();
    EXPECT_THAT(ragged.next().status().message(), HasSubstr("line 2 has 3 cells, the header has 2"));
    auto open_quote = TableReader::open("a,b\n1,\"2\n", ',').value();
    EXPECT_THAT(open_quote.next().status().message(), HasSubstr("line 2: a quote is never closed"));
    auto after_quote = TableReader::open("a,b\n\"1\"x,2\n", ',').value();
    EXPECT_THAT(after_quote.next().status().message(), HasSubstr("text follows a closing quote"));
}

TEST(Predictions, AllFormsThatToolsWrite) {
    const auto lines = parse_predictions(
                           "{\"question_id\": 7, \"text\": \"a\", \"prompt\": \"p\"}\n\n"
                           "{\"question_id\": \"x\", \"text\": \"\"}\r\n")
                           .value();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].id, "7");
    EXPECT_EQ(lines[0].prompt, "p");
    EXPECT_EQ(lines[1].text, "");
    const auto list = parse_predictions("[{\"questionId\": \"9\", \"prediction\": \"dog\"}]").value();
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].text, "dog");
    const auto object = parse_predictions("{\n \"v1_0\": \"cat\"\n}").value();
    ASSERT_EQ(object.size(), 1U);
    EXPECT_EQ(object[0].id, "v1_0");
    EXPECT_THAT(parse_predictions("").value(), IsEmpty());
}

TEST(Predictions, ErrorsNameTheLine) {
    const auto message = [](const char* text) { return parse_predictions(text).status().message(); };
    EXPECT_THAT(message("{\"question_id\": 1, \"text\": \"a\"}\n{\"text\": \"b\"}"),
                HasSubstr("line 2: has no \"question_id\""));
    EXPECT_THAT(message("{\"question_id\": 1}"), HasSubstr("line 1: has no \"text\""));
    EXPECT_THAT(message("{\"question_id\": 1.5, \"text\": \"a\"}"), HasSubstr("whole number"));
    EXPECT_THAT(message("{\"question_id\": 1, \"text\": 5}"), HasSubstr("\"text\" is not a string"));
    EXPECT_THAT(message("{\"question_id\": 1, \"text\": \"a\""), HasSubstr("line 1: not JSON"));
    EXPECT_THAT(message("[1]"), HasSubstr("entry 0: not a JSON object"));
}

TEST(Matching, CountsMissingUnknownAndRepeated) {
    Dataset dataset;
    dataset.items.resize(3);
    dataset.items[0].id = "a";
    dataset.items[1].id = "b";
    dataset.items[2].id = "c";
    const std::vector<Prediction> predictions = {
        {"b", "1", ""}, {"z", "2", ""}, {"b", "3", ""}, {"c", "", ""}};
    const Answers answers = match_by_id(dataset, predictions).value();
    EXPECT_THAT(answers.missing, ElementsAre("a"));
    EXPECT_THAT(answers.unknown, ElementsAre("z"));
    EXPECT_THAT(answers.repeated, ElementsAre("b"));
    EXPECT_EQ(answers.texts[1], "3");  // the last one counts
    EXPECT_EQ(answers.texts[2], "");   // an empty answer is an answer
}

}  // namespace
}  // namespace clasp::eval
