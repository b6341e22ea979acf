// chat as a pipe uses it: one answer for each line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::HasSubstr;

std::string crosses() {
    return std::string(test::source_dir()) + "/examples/pictures/crosses.png";
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST(Chat, AnswersEveryLineAndTheFirstAsAskDoes) {
    const std::string question = "How many yellow crosses are in the picture?";
    const Outcome asked = run({"ask", crosses(), question, "--threads", "1"});
    const Outcome talked = run({"chat", crosses(), "--threads", "1", "--max-tokens", "8"},
                               {.input = question + "\n\nAnd what colour are they?\n"});
    EXPECT_EQ(talked.code, 0) << talked.err;
    const auto lines = lines_of(talked.out);
    ASSERT_EQ(lines.size(), 2U) << talked.out;
    EXPECT_EQ(lines[0], lines_of(asked.out)[0]);
}

TEST(Chat, RemembersAndForgets) {
    const Outcome talked = run({"chat", "--threads", "1", "--max-tokens", "4", "--json"},
                               {.input = "/image " + crosses() +
                                         "\nHow many crosses?\nHow many circles?\n/undo\nHow many "
                                         "circles?\n/reset\nHello?\n/quit\nNo.\n"});
    EXPECT_EQ(talked.code, 0) << talked.err;
    const auto lines = lines_of(talked.out);
    ASSERT_EQ(lines.size(), 4U) << talked.out;
    const auto visual = [&](std::size_t i) { return test::parsed(lines[i])["tokens"]["visual"]; };
    EXPECT_EQ(visual(0), 576);
    EXPECT_EQ(visual(1), 576);
    EXPECT_EQ(test::parsed(lines[1])["timings_ms"]["encode"], 0.0);
    EXPECT_EQ(test::parsed(lines[1])["answer"], test::parsed(lines[2])["answer"]);
    EXPECT_EQ(test::parsed(lines[1])["tokens"], test::parsed(lines[2])["tokens"]);
    EXPECT_EQ(visual(3), 0);
}

TEST(Chat, WhatCannotBeAnsweredEndsAPipeAndNotAPerson) {
    const Outcome piped =
        run({"chat", "--threads", "1"}, {.input = "/image /no/such/file.png\nWhat is it?\nHi?\n"});
    EXPECT_EQ(piped.code, 1);
    EXPECT_THAT(piped.err, HasSubstr("/no/such/file.png"));
    const Outcome person =
        run({"chat", "--threads", "1", "--max-tokens", "1"},
            {.input = "/image /no/such/file.png\nWhat is it?\n/what\n/quit\n", .input_is_terminal = true});
    EXPECT_EQ(person.code, 0) << person.err;
    EXPECT_THAT(person.err, HasSubstr("there is no /what"));
}

}  // namespace
}  // namespace clasp::cli
