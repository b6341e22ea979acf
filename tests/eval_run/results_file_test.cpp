#include "eval/results_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "eval/run_folder.h"
#include "support/file_limit.h"
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
    record.encode_ms = 12.5;
    record.has_own_encoder = true;
    record.prefill_ms = 8.25;
    record.decode_ms = 1.5;
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

// The text with the first `"key": value` replaced by another value.
std::string with_value(std::string text, const std::string& key, const std::string& value) {
    const std::size_t at = text.find("\"" + key + "\":") + key.size() + 3;
    const std::size_t end = text.find_first_of(",}\n", at);
    return text.replace(at, end - at, value);
}

const std::vector<std::string> kNoCounts = {"4.44e71", "-4.44e71", "-1",   "0.5", "18446744073709551616",
                                            "1e20",    "\"3\"",    "true", "[3]", "null"};

TEST(Records, ANumberThatIsNoCountIsRefused) {
    const std::string line = to_json_line(make("1", "x"));
    for (const std::string key : {"class", "generated"}) {
        for (const std::string& value : kNoCounts) {
            const Status status = parse_record(with_value(line, key, value)).status();
            EXPECT_EQ(status.message(), "not a record of an answer") << key << ": " << value;
            EXPECT_EQ(status.code(), Code::Corrupt);
        }
        EXPECT_TRUE(parse_record(with_value(line, key, "18446744073709551615")).ok()) << key;
        EXPECT_TRUE(parse_record(with_value(line, key, "12.0")).ok()) << key;
    }
    for (const std::string key : {"average_tokens", "encode_ms", "prefill_ms", "decode_ms"}) {
        EXPECT_TRUE(parse_record(with_value(line, key, "4.44e71")).ok()) << key;
        EXPECT_FALSE(parse_record(with_value(line, key, "true")).ok()) << key;
    }
    EXPECT_FALSE(parse_record(with_value(line, "own_encoder", "1")).ok());
    EXPECT_FALSE(parse_record(with_value(line, "text", "7")).ok());
    EXPECT_FALSE(parse_record("[]").ok());
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

TEST(ResultsFile, ThatNothingWasWrittenToIsNotLeftBehind) {
    const std::string path = fresh_path("empty.jsonl");
    ASSERT_TRUE(ResultsWriter::open(path).ok());
    EXPECT_FALSE(fs::exists(path));
    ASSERT_TRUE(ResultsWriter::open(path)->append(make("1", "x")).ok());
    ASSERT_TRUE(ResultsWriter::open(path).ok());
    EXPECT_EQ(read_records(path)->at("00ff").size(), 1U) << "answers of an earlier run stay";
}

TEST(ResultsFile, AWriterWhoseFileWasTakenAwayIsRefused) {
    const std::string path = fresh_path("taken.jsonl");
    auto first = ResultsWriter::open(path);
    ASSERT_TRUE(first.ok());
    fs::remove(path);
    auto second = ResultsWriter::open(path);
    ASSERT_TRUE(second.ok()) << "another file by now";
    ASSERT_TRUE(second->append(make("1", "x")).ok());
}

TEST(ResultsFile, AFullDiskLeavesWholeLines) {
    const std::string path = fresh_path("full.jsonl");
    {
        auto writer = ResultsWriter::open(path);
        ASSERT_TRUE(writer.ok());
        ASSERT_TRUE(writer->append(make("1", "x")).ok());
        const clasp::test::FileLimit limit(fs::file_size(path) + 20);
        const Status status = writer->append(make("2", "y"));
        EXPECT_EQ(status.code(), Code::Unavailable);
        EXPECT_THAT(status.message(), HasSubstr(path));
        EXPECT_THAT(status.message(), HasSubstr("File too large"));
    }
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_EQ(text, to_json_line(make("1", "x")));
}

TEST(ResultsFile, TheLongestLineIsWrittenAndReadAndNoLonger) {
    const std::string path = fresh_path("long.jsonl");
    const std::size_t frame = to_json_line(make("1", "")).size() - 1;
    auto writer = ResultsWriter::open(path);
    ASSERT_TRUE(writer.ok());
    const std::string longest(kMaxRecordBytes - frame, 'x');
    ASSERT_TRUE(writer->append(make("1", longest)).ok());
    const Status status = writer->append(make("2", longest + "x"));
    EXPECT_EQ(status.code(), Code::TooLarge);
    EXPECT_THAT(status.message(), HasSubstr("question '2'"));
    EXPECT_THAT(status.message(), HasSubstr("more than the limit of 16777216"));
    const auto records = read_records(path);
    ASSERT_TRUE(records.ok()) << records.status().message();
    EXPECT_EQ(records->at("00ff").size(), 1U);
    EXPECT_EQ(records->at("00ff").at("1").text, longest);
    EXPECT_EQ(parse_record(to_json_line(make("2", longest + "xx"))).status().code(), Code::TooLarge);
}

TEST(ResultsFile, ASecondAnswerThatDiffersIsRefused) {
    const std::string path = fresh_path("twice.jsonl");
    std::ofstream(path) << to_json_line(make("1", "x")) << to_json_line(make("1", "x"));
    ASSERT_TRUE(read_records(path).ok()) << "the same answer again does no harm";
    EXPECT_EQ(read_records(path)->at("00ff").at("1").text, "x");
    std::ofstream(path, std::ios::app) << to_json_line(make("1", "y"));
    EXPECT_EQ(read_records(path).status().message(),
              "'" + path + "': line 3: question '1' has two answers of 'clasp' at budget '64': 'x' and 'y'");
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

TEST(RunDescriptions, ANumberThatIsNoCountIsRefused) {
    RunDescription run;
    run.shard = {1, 4};
    const std::string text = to_json(run);
    ASSERT_TRUE(parse_run(text).ok()) << parse_run(text).status().message();
    const auto message = [](const std::string& other) { return parse_run(other).status().message(); };
    for (const std::string& value : kNoCounts) {
        for (const std::string key : {"limit", "max_tokens"}) {
            EXPECT_EQ(message(with_value(text, key, " " + value)), "not the description of a run")
                << key << ": " << value;
        }
        for (const std::string number : {"1", "4"}) {
            std::string other = text;
            const std::size_t at = other.find("    " + number, other.find("\"shard\""));
            ASSERT_NE(at, std::string::npos);
            EXPECT_EQ(message(other.replace(at + 4, 1, value)), "not the description of a run")
                << number << ": " << value;
        }
        EXPECT_EQ(message(with_value(text, "clasp_run", " " + value)),
                  "this run was described by another version")
            << value;
    }
    EXPECT_EQ(message(with_value(text, "rows", " {}")), "not the description of a run");
    EXPECT_EQ(message(with_value(text, "methods", " [1]")), "not the description of a run");
}

}  // namespace
}  // namespace clasp::eval
