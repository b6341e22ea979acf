// clasp-vlm eval BENCHMARK --data DIR --answers FILE, on the small sets in tests/data/eval.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string data(const std::string& name) {
    return std::string(test::source_dir()) + "/tests/data/eval/" + name;
}

std::vector<std::string> eval_words(const std::string& name, const std::string& answers,
                                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"eval", name, "--data", data(name), "--answers", answers};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::string scratch_file(const std::string& name, const std::string& text) {
    const std::string path = std::string(test::scratch_dir()) + "/" + name;
    std::ofstream(path) << text;
    return path;
}

TEST(EvalAnswers, JsonHasScoreAndMetrics) {
    const Outcome outcome = run(eval_words("pope", data("pope/answers.jsonl"), {"--json"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = test::parsed(outcome.out);
    EXPECT_EQ(json["score"], 0.8222);
    EXPECT_EQ(json["metric"], "f1");
    EXPECT_EQ(json["metrics"]["random.recall"], 0.5);
    EXPECT_EQ(json["metrics"]["random.tp"], 1);
    EXPECT_EQ(json["counts"]["random.f1"], 4);
    EXPECT_EQ(json["missing"], 0);
    EXPECT_EQ(outcome.err, "");
}

TEST(EvalAnswers, TableForPeople) {
    const Outcome outcome = run(eval_words("gqa", data("gqa/answers.jsonl")));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("GQA testdev_balanced, 4 questions: 75.00"));
    EXPECT_THAT(outcome.err, HasSubstr("warning: 1 questions outside the balanced set"));
}

TEST(EvalAnswers, MissingUnknownAndRepeatedAreCounted) {
    const std::string file =
        scratch_file("few.jsonl",
                     "{\"question_id\": 0, \"text\": \"x\"}\n{\"question_id\": 0, \"text\": "
                     "\"hammer\"}\n{\"question_id\": 77, \"text\": \"y\"}\n");
    const Outcome outcome = run(eval_words("scenes", file, {"--json"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto json = test::parsed(outcome.out);
    EXPECT_EQ(json["score"], 33.33);
    EXPECT_EQ(json["missing"], 2);
    EXPECT_EQ(json["unknown"], 1);
    EXPECT_EQ(json["repeated"], 1);
    EXPECT_THAT(outcome.err,
                HasSubstr("warning: 2 answers missing, counted as wrong, the first for question 1"));
    const Outcome strict = run(eval_words("scenes", file, {"--strict"}));
    EXPECT_EQ(strict.code, 1);
    EXPECT_THAT(strict.err, HasSubstr("2 answers are missing"));
}

TEST(EvalAnswers, JudgementsFromFileFolderOrAsAnswers) {
    const std::string answers = data("llava-bench/answers/model.jsonl");
    const std::string reviews = data("llava-bench/reviews/model-eval1.jsonl");
    for (const auto& words :
         {eval_words("llava-bench", answers, {"--judgements", reviews, "--json"}),
          eval_words("llava-bench", answers, {"--json"}), eval_words("llava-bench", reviews, {"--json"})}) {
        const Outcome outcome = run(words);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const auto json = test::parsed(outcome.out);
        EXPECT_EQ(json["score"], 59.4);
        EXPECT_EQ(json["judgements"][0], reviews);
    }
    const Outcome none = run(eval_words("mm-vet", data("mm-vet/answers.jsonl")));
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("graded by a language model"));
}

TEST(EvalAnswers, VideoWithoutAJudgeSaysWhatItIs) {
    const Outcome outcome = run(eval_words("msvd-qa", data("msvd-qa/answers.jsonl"), {"--json"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(test::parsed(outcome.out)["metric"], "exact_match");
    EXPECT_THAT(outcome.err, HasSubstr("does not compare with judged figures"));
}

TEST(EvalAnswers, WrongUsage) {
    const std::string answers = data("pope/answers.jsonl");
    EXPECT_EQ(run({"eval", "pope", "--answers", answers}).code, 2);
    EXPECT_EQ(run(eval_words("nothing", answers)).code, 2);
    EXPECT_EQ(run(eval_words("pope", answers, {"--judge", "http://127.0.0.1:1"})).code, 2);
    EXPECT_EQ(run(eval_words("pope", answers, {"--split", "val"})).code, 2);
}

TEST(EvalAnswers, BrokenAnswersFailWithOneLine) {
    const Outcome broken = run(eval_words("pope", scratch_file("broken.jsonl", "{\"question_id\": 1\n")));
    EXPECT_EQ(broken.code, 1);
    EXPECT_THAT(broken.err, HasSubstr("broken.jsonl: line 1: not JSON"));
    EXPECT_EQ(std::count(broken.err.begin(), broken.err.end(), '\n'), 1);
    EXPECT_EQ(run(eval_words("pope", "/nowhere.jsonl")).code, 1);
}

}  // namespace
}  // namespace clasp::cli
