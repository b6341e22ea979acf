// Data that is broken, cut, contradictory or not there: one clear sentence each, and never a crash.
#include <gmock/gmock.h>

#include "fixture.h"

namespace clasp::eval {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct BadFile {
    const char* benchmark;
    const char* file;
    const char* text;
    const char* message;
};

constexpr const char* kScene =
    "{\"question_id\": 1, \"image\": \"a\", \"text\": \"t\", \"answer\": \"x\", \"class_id\": 0}\n";

std::vector<BadFile> bad_files() {
    return {
        {"scenes", "questions.jsonl", "{\"question_id\": 1", "line 1: not JSON"},
        {"scenes", "questions.jsonl", "[1]\n", "line 1: not a JSON object"},
        {"scenes", "questions.jsonl", "{\"question_id\": 1, \"image\": \"a\"}\n", "line 1: has no \"text\""},
        {"scenes", "questions.jsonl",
         "{\"question_id\": 1, \"image\": \"a\", \"text\": \"t\", \"answer\": \"x\", \"class_id\": 9}\n",
         "\"class_id\" is not between 0 and 8"},
        {"scenes", "questions.jsonl",
         "{\"question_id\": 1, \"image\": \"a\", \"text\": \"t\", \"answer\": \"x\", \"class_id\": "
         "4.44e71}\n",
         "\"class_id\" is not a whole number"},
        {"scenes", "questions.jsonl",
         "{\"question_id\": 1, \"image\": \"a\", \"text\": \"t\", \"answer\": \"x\", "
         "\"class_id\": 18446744073709551615}\n",
         "\"class_id\" is too large a number"},
        {"scenes", "questions.jsonl", "{\"question_id\": {}, \"image\": \"a\"}\n",
         "neither a whole number nor a string"},
        {"scenes-video", "questions.jsonl", "{\"question_id\": 1, \"text\": \"t\"}\n", "has no \"image\""},
        {"jsonl", "questions.jsonl", "{\"question\": \"q\"}\n", "has no \"answer\""},
        {"jsonl", "questions.jsonl", "{\"question\": \"q\", \"answers\": []}\n", "\"answers\" is empty"},
        {"jsonl", "questions.jsonl", "{\"question\": \"q\", \"answers\": [1]}\n", "not a list of strings"},
        {"gqa", "testdev_balanced_questions.json", "[]", "not a JSON object"},
        {"gqa", "testdev_balanced_questions.json", "{\"1\": {\"isBalanced\": \"yes\"}}",
         "neither true nor false"},
        {"gqa", "testdev_balanced_questions.json", "{\"1\": {\"isBalanced\": true}}", "has no \"question\""},
        {"gqa", "testdev_balanced_questions.json", "{\"1\": 5, \"1\": 6}", "stands twice in one object"},
        {"pope", "coco_pope_random.json",
         "{\"question_id\": 1, \"image\": \"a\", \"text\": \"t\", \"label\": \"maybe\"}",
         "neither yes nor no"},
        {"textvqa", "TextVQA_0.5.1_val.json", "{\"data\": {}}", "\"data\" is not a list"},
        {"textvqa", "TextVQA_0.5.1_val.json",
         "{\"data\": [{\"question_id\": 1, \"image_id\": \"a\", \"question\": \"q\"}, {\"question_id\": 1, "
         "\"image_id\": "
         "\"a\", \"question\": \"q\"}]}",
         "occurs twice"},
        {"vqav2", "v2_OpenEnded_mscoco_val2014_questions.json", "{\"questions\": [{\"question_id\": 1}]}",
         "has no \"image_id\""},
        {"vizwiz", "val.json", "{}", "not a list"},
        {"seed-bench", "SEED-Bench.json",
         "{\"questions\": [{\"data_type\": \"image\", \"question_id\": 1, \"question\": \"q\", \"choice_a\": "
         "\"a\", "
         "\"choice_b\": \"b\", \"choice_c\": \"c\", \"choice_d\": \"d\", \"answer\": \"E\"}]}",
         "not one of A, B, C, D"},
        {"mm-vet", "mm-vet.json", "{\"v1_0\": {\"imagename\": \"a\", \"question\": \"q\", \"answer\": 3}}",
         "\"answer\" is not a string"},
        {"llava-bench", "questions.jsonl", "{\"question_id\": 0, \"image\": \"a\", \"text\": \"t\"}",
         "has no \"category\""},
        {"mmbench", "mmbench_dev_20230712.tsv", "index\tquestion\tA\n", "no column \"B\""},
        {"mmbench", "mmbench_dev_20230712.tsv", "index\tquestion\tA\tB\tanswer\n1\tq\ta\tb\tC\n",
         "line 2: the answer 'C' is not the letter of an option"},
        {"mmbench", "mmbench_dev_20230712.tsv", "index\tquestion\tA\tB\n-1\tq\ta\tb\n",
         "is not a whole number"},
        {"mmbench", "mmbench_dev_20230712.tsv", "index\tquestion\tA\tB\timage\n1\tq\ta\tb\t77\n",
         "takes its picture from row 77, which is not there"},
        {"mme", "existence/a.txt", "one line\n", "not a question, a tab and Yes or No"},
        {"mme", "existence/a.txt", "q\tYes\n", "has 1 questions, not two"},
        {"msvd-qa", "test_qa.json", "[{\"id\": 1}]", "has no \"video_id\""},
        {"tgif-qa", "Test_frameqa_question.csv", "gif_name\tquestion\n", "no column \"answer\""},
        {"tgif-qa", "Test_frameqa_question.csv", "gif_name\tquestion\tanswer\ttype\tkey\ng\tq\ta\t7\tk\n",
         "line 2: the type is not 0, 1, 2 or 3"},
    };
}

TEST(Hostile, BrokenFilesAreNamedInOneSentence) {
    const std::string folder = scratch_folder();
    for (const BadFile& bad : bad_files()) {
        SCOPED_TRACE(std::string(bad.benchmark) + ": " + bad.text);
        std::filesystem::remove_all(folder);
        write_text(folder + "/" + bad.file, bad.text);
        const auto dataset = benchmark(bad.benchmark).load(folder, {});
        ASSERT_FALSE(dataset.ok());
        EXPECT_EQ(dataset.status().code(), Code::Corrupt);
        EXPECT_THAT(dataset.status().message(), AllOf(HasSubstr(bad.message), Not(HasSubstr("\n"))));
    }
}

TEST(Hostile, FoldersWithoutTheFilesSayWhatIsMissing) {
    const std::string folder = scratch_folder();
    for (const Benchmark& set : benchmarks()) {
        SCOPED_TRACE(set.name);
        const auto empty = set.load(folder, {});
        ASSERT_FALSE(empty.ok());
        EXPECT_EQ(empty.status().code(), Code::NotFound);
        EXPECT_THAT(empty.status().message(), HasSubstr(folder));
        EXPECT_EQ(set.load(folder + "/nowhere", {}).status().code(), Code::NotFound);
    }
}

TEST(Hostile, RepeatedQuestionIdsAreRefused) {
    const std::string folder = scratch_folder();
    write_text(folder + "/questions.jsonl", std::string(kScene) + kScene);
    EXPECT_THAT(benchmark("scenes").load(folder, {}).status().message(),
                HasSubstr("the question id '1' occurs twice in the data"));
}

TEST(Hostile, DeepJsonIsRefused) {
    EXPECT_THAT(parse_predictions(std::string(100000, '[')).status().message(), HasSubstr("nested deeper"));
}

TEST(Hostile, NineAnswersAreNotTen) {
    Dataset dataset = load_fixture("textvqa", "textvqa");
    dataset.items[0].answers.pop_back();
    const auto scores = benchmark("textvqa").score(dataset, in_item_order(dataset, {}), nullptr);
    EXPECT_THAT(scores.status().message(), HasSubstr("question '34' has 9 reference answers"));
}

TEST(Hostile, SplitsWithoutLabelsCannotBeScored) {
    const std::string folder = scratch_folder();
    write_text(folder + "/v2_OpenEnded_mscoco_test-dev2015_questions.json",
               R"({"questions": [{"question_id": 1, "image_id": 7, "question": "q"}]})");
    const Dataset dataset = benchmark("vqav2").load(folder, {}).value();
    EXPECT_THAT(dataset.items[0].image, HasSubstr("test2015/COCO_test2015_000000000007.jpg"));
    const auto scores = benchmark("vqav2").score(dataset, in_item_order(dataset, {}), nullptr);
    EXPECT_EQ(scores.status().code(), Code::Unsupported);
    EXPECT_THAT(scores.status().message(), HasSubstr("only the benchmark's server can score it"));
}

TEST(Hostile, EmptySetsScoreZero) {
    for (const Benchmark& set : benchmarks()) {
        if (set.needs_judge) continue;
        Dataset dataset;
        const auto scores = set.score(dataset, in_item_order(dataset, {}), nullptr);
        ASSERT_TRUE(scores.ok()) << set.name;
        EXPECT_EQ(scores->headline.value, 0.0) << set.name;
    }
}

TEST(Hostile, PicturesThatAreNotThere) {
    Item item;
    item.id = "q";
    EXPECT_EQ(read_image(item).status().code(), Code::InvalidArgument);
    item.image = scratch_folder() + "/none.jpg";
    EXPECT_EQ(read_image(item).status().code(), Code::NotFound);
    item.image.clear();
    const std::string file = scratch_folder() + "/table.tsv";
    write_text(file, "T*==");
    item.embedded = {file, 0, 4};
    EXPECT_THAT(read_image(item).status().message(), HasSubstr("the picture of question 'q'"));
    item.embedded = {file, 2, 40};
    EXPECT_EQ(read_image(item).status().code(), Code::Corrupt);
}

}  // namespace
}  // namespace clasp::eval
