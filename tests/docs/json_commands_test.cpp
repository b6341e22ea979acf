// The page about JSON output lists every field that the commands without a model write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/npy.h"
#include "clasp/policy.h"
#include "cli/run_program.h"
#include "json_page.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp {
namespace {

namespace fs = std::filesystem;
using base::Json;
using test::JsonPage;
using testing::ElementsAre;
using testing::IsEmpty;

class JsonOutput : public testing::Test {
   protected:
    void SetUp() override {
        folder_ = fs::path(test::scratch_dir()) /
                  (std::string("json-") + testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

    std::string write_numbers(const std::string& name, std::size_t rows, std::size_t columns) const {
        std::vector<float> values(rows * columns);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0F + static_cast<float>(i * 37 % 11);
        const std::array<std::size_t, 2> shape = {rows, columns};
        const std::span<const std::size_t> extents(shape.data(), columns == 1 ? 1 : 2);
        EXPECT_TRUE(base::write_npy(path(name), extents, values).ok());
        return path(name);
    }

    std::string write_text(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }

    // Runs a command with --json and looks every field of every line up in a section of the page.
    void expect_listed(const std::string& section, std::vector<std::string> words) const {
        words.emplace_back("--json");
        const cli::Outcome result = cli::run(words);
        ASSERT_EQ(result.code, 0) << result.err;
        if (words.front() == "help") {
            EXPECT_THAT(page_.undocumented(section, test::parsed(result.out)), IsEmpty());
            return;
        }
        std::istringstream lines(result.out);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_THAT(page_.undocumented(section, test::parsed(line)), IsEmpty()) << words[0];
        }
    }

    void expect_lines_listed(const std::string& section, const std::string& file) const {
        std::ifstream lines(file);
        std::size_t n_lines = 0;
        for (std::string line; std::getline(lines, line); ++n_lines) {
            EXPECT_THAT(page_.undocumented(section, test::parsed(line)), IsEmpty()) << file;
        }
        EXPECT_GT(n_lines, 0U) << file;
    }

    fs::path folder_;
    JsonPage page_ = JsonPage::read();
};

TEST(JsonPageOfDocs, AFieldThatIsNotListedIsFound) {
    const JsonPage page = JsonPage::parse(
        "## ask\n| Field | Meaning |\n|---|---|\n| `answer` | |\n| `mix.{layer}`, `stages[].kept` | |\n"
        "## compare\n| `vanilla` | all fields of [ask](#ask) |\n");
    const Json output = {{"answer", "6"},
                         {"mix", {{"22", 1.0}}},
                         {"stages", {{{"kept", 3}, {"dropped", 5}}}},
                         {"secret", {{"inner", 1}}}};
    EXPECT_THAT(page.undocumented("ask", output), ElementsAre("secret.inner", "stages[].dropped"));
    EXPECT_THAT(page.undocumented("ask", {{"stages", Json::array()}, {"mix", Json::object()}}), IsEmpty());
    EXPECT_THAT(page.undocumented("compare", {{"vanilla", output}}),
                ElementsAre("vanilla.secret.inner", "vanilla.stages[].dropped"));
    EXPECT_THAT(page.undocumented("nothing", {{"answer", "6"}}), ElementsAre("answer"));
}

TEST(JsonPageOfDocs, HasASectionForEveryCommand) {
    const JsonPage page = JsonPage::read();
    for (const cli::Command& command : cli::commands()) {
        EXPECT_TRUE(page.has_section(std::string(command.name))) << command.name;
    }
}

TEST_F(JsonOutput, OfSelect) {
    expect_listed("select", {"select", "--features", write_numbers("u.npy", 20, 4), "--scores",
                             write_numbers("s.npy", 20, 1), "--budget", "6", "--split", "0.5"});
}

TEST_F(JsonOutput, OfSchedule) {
    expect_listed("schedule", {"schedule", "--tokens", "576", "--layers", "32", "--budget", "192"});
    expect_listed("schedule", {"schedule", "--tokens", "576", "--layers", "32", "--budget", "none"});
}

TEST_F(JsonOutput, OfFuse) {
    expect_listed(
        "fuse", {"fuse", "--layer", "5=" + write_numbers("a.npy", 6, 4), "--layer",
                 "22=" + write_numbers("b.npy", 6, 4), "--weights", "5:0.2,22:0.8", "--out", path("f.npy")});
}

TEST_F(JsonOutput, OfRoute) {
    expect_listed("route", {"route", "How many cats are on the sofa?"});
    expect_listed("route", {"route", "Who wrote this book?", "--explain"});
    expect_listed("route", {"route", "--file",
                            write_text("q.jsonl", "{\"text\": \"Is it red?\"}\n{\"text\": \"?\"}\n")});
}

TEST_F(JsonOutput, OfTrainingTheRouter) {
    std::ifstream all(std::string(test::source_dir()) + "/src/route/data/questions.jsonl");
    std::string some;
    std::string line;
    for (int i = 0; i < 40 && std::getline(all, line); ++i) some += line + "\n";
    expect_listed("route", {"route", "train", "--data", write_text("train.jsonl", some), "--report", "all",
                            "--out", path("router.model")});
}

TEST_F(JsonOutput, OfScenes) {
    expect_listed("scenes", {"scenes", "--split", "test", "--count", "3", "--out", path("scenes")});
    expect_lines_listed("scenes", path("scenes/questions.jsonl"));
    expect_listed("scenes", {"scenes", "--video", "--split", "test", "--count", "8", "--out", path("clips")});
    expect_lines_listed("scenes", path("clips/questions.jsonl"));
}

TEST_F(JsonOutput, OfScoredAnswers) {
    const std::string data = std::string(test::source_dir()) + "/tests/data/eval/";
    for (const std::string name : {"pope", "gqa", "jsonl", "scenes"}) {
        expect_listed("eval",
                      {"eval", name, "--data", data + name, "--answers", data + name + "/answers.jsonl"});
    }
    expect_listed("eval", {"eval", "llava-bench", "--data", data + "llava-bench", "--answers",
                           data + "llava-bench/answers/model.jsonl"});
}

TEST_F(JsonOutput, OfMethods) {
    expect_listed("methods", {"methods"});
    for (const std::string name : {"clasp", "fastv", "random"}) expect_listed("methods", {"methods", name});
}

TEST_F(JsonOutput, OfPolicy) {
    expect_listed("policy", {"policy", "list"});
    const std::string file = write_text("p.json", to_json(*find_profile("llava")));
    expect_listed("policy", {"policy", "check", file});
}

TEST_F(JsonOutput, OfHelp) {
    expect_listed("help", {"help"});
}

}  // namespace
}  // namespace clasp
