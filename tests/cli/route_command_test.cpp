// route as a user runs it; the router itself is tested in its own folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "run_program.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::HasSubstr;

TEST(Route, AnswersAsTheContractSays) {
    const Outcome result = run({"route", "How many people are in the picture?", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json["id"], 5);
    EXPECT_EQ(json["name"], "Counting");
    for (const char* field : {"intent", "confidence", "by", "scores"})
        EXPECT_TRUE(json.contains(field)) << field;
    EXPECT_EQ(json["scores"].size(), 9U);
}

TEST(Route, AFileGivesOneLineEachInOrder) {
    const std::string path = std::string(test::scratch_dir()) + "/questions.jsonl";
    std::ofstream(path) << R"({"text":"How many dogs are there?"})" << '\n'
                        << R"({"text":"What does the sign say?","benchmark":"x"})" << '\n'
                        << R"({"text":"?!"})" << '\n';
    const Outcome result = run({"route", "--file", path, "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    std::istringstream lines(result.out);
    std::vector<int> ids;
    for (std::string line; std::getline(lines, line);) ids.push_back(nlohmann::json::parse(line)["id"]);
    EXPECT_EQ(ids, (std::vector<int>{5, 2, 8}));
}

TEST(Route, HostileTextIsDefaultByFallback) {
    for (const std::string& text : {std::string("\xff\xfe\x80"), std::string(1 << 20, 'a'),
                                    std::string("\x01\x02\x03"), std::string("...")}) {
        const Outcome result = run({"route", text, "--json"});
        ASSERT_EQ(result.code, 0) << result.err;
        const auto json = nlohmann::json::parse(result.out);
        EXPECT_EQ(json["id"], 8);
        EXPECT_EQ(json["by"], "fallback");
    }
}

TEST(Route, BadUseAndBadFilesSayWhy) {
    EXPECT_EQ(run({"route"}).code, 2);
    EXPECT_EQ(run({"route", "What?", "--router", "llm"}).code, 2);
    EXPECT_EQ(run({"route", "What?", "--router", "oracle"}).code, 2);
    EXPECT_EQ(run({"route", "What?", "--router-timeout", "5"}).code, 2);
    const Outcome no_model =
        run({"route", "What?", "--router", "llm", "--router-model", "no-such-model.gguf"});
    EXPECT_EQ(no_model.code, 1);
#ifdef CLASP_HAS_ENGINE
    EXPECT_THAT(no_model.err, HasSubstr("no-such-model.gguf"));
    EXPECT_EQ(run({"ask", "a.jpg", "What?", "--class", "5", "--router", "rules"}).code, 2);
#endif
    const Outcome missing = run({"route", "--file", "no-such-file.jsonl", "--json"});
    EXPECT_EQ(missing.code, 1);
    EXPECT_THAT(missing.err, HasSubstr("no-such-file.jsonl"));
    const std::string path = std::string(test::scratch_dir()) + "/broken.jsonl";
    std::ofstream(path) << R"({"text":"fine"})" << '\n' << "{nonsense" << '\n';
    const Outcome broken = run({"route", "--file", path, "--json"});
    EXPECT_EQ(broken.code, 1);
    EXPECT_THAT(broken.err, HasSubstr("2"));
}

TEST(Route, ExplainNamesWhatDecided) {
    const Outcome result = run({"route", "What colour is the car?", "--explain", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_FALSE(nlohmann::json::parse(result.out)["evidence"].empty());
}

}  // namespace
}  // namespace clasp::cli
