// route as a user runs it; the router itself is tested in its own folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::HasSubstr;

TEST(Route, AnswersAsTheContractSays) {
    const Outcome result = run({"route", "How many people are in the picture?", "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto json = test::parsed(result.out);
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
    for (std::string line; std::getline(lines, line);)
        ids.push_back(test::parsed(line)["id"].get<int>().value());
    EXPECT_EQ(ids, (std::vector<int>{5, 2, 8}));
}

TEST(Route, AFileInWordsHasOneReadableLineForEachQuestion) {
    const std::string path = std::string(test::scratch_dir()) + "/readable.jsonl";
    std::ofstream(path) << R"({"text":"How many times does the man clap?"})" << '\n'
                        << '\n'
                        << R"({"text":"What does\nthe sign say?"})" << '\n';
    const Outcome result = run({"route", "--file", path});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out,
              "5  Counting  98.0 %  by rules  How many times does the man clap?\n"
              "2  Text / symbol recognition  98.0 %  by rules  What does the sign say?\n");
}

TEST(Route, ABadLineOfAFileIsSaidInItsPlaceAndTheRestGoesOn) {
    const std::string path = std::string(test::scratch_dir()) + "/mixed.jsonl";
    std::ofstream(path) << R"({"text":"How many dogs are there?"})" << '\n'
                        << "{nonsense" << '\n'
                        << R"({"text":7})" << '\n'
                        << R"({"text":"What does the sign say?"})" << '\n';
    const Outcome result = run({"route", "--file", path, "--json"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("2 of 4 lines"));
    std::istringstream lines(result.out);
    std::vector<base::Json> rows;
    for (std::string line; std::getline(lines, line);) rows.push_back(test::parsed(line));
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0]["id"], 5);
    EXPECT_EQ(rows[1]["line"], 2);
    EXPECT_THAT(rows[1]["error"]["message"].get<std::string>().value(), HasSubstr("line 2"));
    EXPECT_TRUE(rows[2].contains("error"));
    EXPECT_EQ(rows[3]["id"], 2);

    const Outcome words = run({"route", "--file", path});
    EXPECT_EQ(words.code, 1);
    EXPECT_EQ(std::count(words.out.begin(), words.out.end(), '\n'), 4);
    EXPECT_THAT(words.out, HasSubstr("error  line 2"));
}

TEST(Route, HostileTextIsDefaultByFallback) {
    for (const std::string& text : {std::string("\xff\xfe\x80"), std::string(1 << 20, 'a'),
                                    std::string("\x01\x02\x03"), std::string("...")}) {
        const Outcome result = run({"route", text, "--json"});
        ASSERT_EQ(result.code, 0) << result.err;
        const auto json = test::parsed(result.out);
        EXPECT_EQ(json["id"], 8);
        EXPECT_EQ(json["by"], "fallback");
    }
}

TEST(Route, BadUseAndBadFilesSayWhy) {
    EXPECT_EQ(run({"route"}).code, 2);
    EXPECT_EQ(run({"route", ""}).code, 2);
    EXPECT_EQ(run({"route", " \t "}).code, 2);
    EXPECT_THAT(run({"route", "\xc2\xa0\xe3\x80\x80"}).err, HasSubstr("the question is blank"));
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
    EXPECT_FALSE(test::parsed(result.out)["evidence"].empty());
}

}  // namespace
}  // namespace clasp::cli
