#include "eval/results_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "eval/run_folder.h"
#include "support/paths.h"

namespace clasp::eval {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

AnswerRecord make(const std::string& item, const std::string& text) {
    AnswerRecord record;
    record.variant = "00ff";
    record.label = "clasp";
    record.method = "clasp";
    record.budget = "64";
    record.item = item;
    record.text = text;
    record.class_id = 5;
    record.average_tokens = 61.75;
    record.total_ms = 12.5;
    record.generated = 3;
    record.stopped_at_limit = true;
    return record;
}

std::string fresh_path(const char* name) {
    const std::string path = clasp::test::scratch_dir() + std::string("/") + name;
    fs::remove(path);
    return path;
}

TEST(Records, ComeBackAsTheyWere) {
    const AnswerRecord record = make("a \"b\"\n", "two\nlines \xc3\xa9");
    const std::string line = to_json_line(record);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    const auto back = parse_record(line);
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(to_json_line(*back), line);
    EXPECT_EQ(back->text, record.text);
    EXPECT_EQ(back->item, record.item);
}

TEST(ResultsFile, ATornLastLineIsCutAndAnythingElseIsCorrupt) {
    const std::string path = fresh_path("torn.jsonl");
    std::ofstream(path) << to_json_line(make("1", "x")) << "{\"question_id\": \"2\", \"te";
    auto records = read_records(path);
    ASSERT_TRUE(records.ok());
    EXPECT_EQ(records->at("00ff").size(), 1U);
    {
        auto writer = ResultsWriter::open(path);
        ASSERT_TRUE(writer.ok());
        ASSERT_TRUE(writer->append(make("2", "y")).ok());
    }
    records = read_records(path);
    ASSERT_TRUE(records.ok()) << records.status().message();
    EXPECT_EQ(records->at("00ff").size(), 2U);

    std::ofstream(path, std::ios::app) << "nonsense\n";
    EXPECT_THAT(read_records(path).status().message(), HasSubstr("line 3"));
}

TEST(ResultsFile, OfNothingIsEmptyAndHasOneWriter) {
    const std::string path = fresh_path("none.jsonl");
    EXPECT_TRUE(read_records(path)->empty());
    auto writer = ResultsWriter::open(path);
    ASSERT_TRUE(writer.ok());
    EXPECT_THAT(ResultsWriter::open(path).status().message(), HasSubstr("another run"));
}

TEST(MergeRecords, JoinsAndRefusesContradictions) {
    RecordTable a;
    RecordTable b;
    a["00ff"]["1"] = make("1", "x");
    b["00ff"]["1"] = make("1", "x");
    b["00ff"]["2"] = make("2", "y");
    ASSERT_TRUE(merge_records(b, a).ok());
    EXPECT_EQ(a["00ff"].size(), 2U);
    b["00ff"]["2"].text = "z";
    EXPECT_THAT(merge_records(b, a).message(), HasSubstr("two answers"));
}

TEST(RunDescriptions, ComeBackAndKnowTheirKin) {
    RunDescription run;
    run.benchmark = "scenes";
    run.data_hash = "d";
    run.model_hash = "m";
    run.max_tokens = 16;
    run.shard = {1, 4};
    run.methods = {"clasp"};
    run.class_names = {"Counting"};
    run.rows = {{"clasp", "clasp", "64", "00ff", "llava", "abc"}};
    const auto back = parse_run(to_json(run));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(to_json(*back), to_json(run));
    RunDescription other = run;
    other.shard = {2, 4};
    EXPECT_TRUE(check_same_run(run, other).ok());
    other.model_hash = "n";
    EXPECT_THAT(check_same_run(run, other).message(), HasSubstr("model"));
    EXPECT_FALSE(parse_run("{}").ok());
}

}  // namespace
}  // namespace clasp::eval
