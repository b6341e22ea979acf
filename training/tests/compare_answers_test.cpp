#include "train/compare_answers.h"

#include "tests/scratch.h"

namespace clasp::training {
namespace {

TEST(CompareAnswers, counts_equal_different_and_missing_ones) {
    const AnswersById ours = {{"0", "no"}, {"1", "green"}, {"2", "PP2"}};
    const AnswersById theirs = {{"0", "no"}, {"1", "blue"}, {"7", "three"}};
    const AnswerComparison comparison = compare_answers(ours, theirs);
    EXPECT_EQ(comparison.equal, 1);
    EXPECT_EQ(comparison.missing, 1);
    ASSERT_EQ(comparison.different.size(), 1U);
    EXPECT_EQ(comparison.different[0].question_id, "1");
    EXPECT_EQ(comparison.different[0].ours, "green");
    EXPECT_EQ(comparison.different[0].theirs, "blue");
}

TEST(CompareAnswers, reads_numbers_and_texts_as_question_ids) {
    const std::string path = scratch("answers.jsonl");
    write_file(
        path,
        "{\"question_id\": 3, \"text\": \"red\"}\n{\"question_id\": \"4\", \"text\": \"\", \"ms\": 1}\n");
    const auto answers = read_answers(path);
    ASSERT_TRUE(answers.ok()) << answers.status().message();
    EXPECT_EQ(*answers, (AnswersById{{"3", "red"}, {"4", ""}}));
}

TEST(CompareAnswers, refuses_what_is_no_single_run) {
    const std::string path = scratch("bad_answers.jsonl");
    for (const char* text :
         {"{\"question_id\": 1, \"text\": \"a\"}\n{\"question_id\": \"1\", \"text\": \"a\"}\n",
          "{\"text\": \"a\"}\n", "{\"question_id\": 1, \"text\": 2}\n", "no json\n"}) {
        write_file(path, text);
        EXPECT_FALSE(read_answers(path).ok()) << text;
    }
    EXPECT_EQ(read_answers(scratch("no-such-answers")).status().code(), Code::NotFound);
}

}  // namespace
}  // namespace clasp::training
