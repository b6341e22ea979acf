// chat as a pipe uses it: one answer for each line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
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

TEST(Chat, AFolderOfFramesIsAClip) {
    const std::filesystem::path folder = std::filesystem::path(test::scratch_dir()) / "chat-frames";
    std::filesystem::create_directories(folder);
    for (int i = 0; i < 8; ++i) {
        std::filesystem::copy_file(crosses(), folder / (std::to_string(i) + ".png"),
                                   std::filesystem::copy_options::overwrite_existing);
    }
    const Outcome talked = run({"chat", folder.string(), "--threads", "1", "--max-tokens", "4", "--json"},
                               {.input = "Which way does the cross move?\nAnd then?\n"});
    EXPECT_EQ(talked.code, 0) << talked.err;
    const auto lines = lines_of(talked.out);
    ASSERT_EQ(lines.size(), 2U) << talked.out;
    EXPECT_EQ(test::parsed(lines[1])["video"]["steps"], 8);
    std::filesystem::remove_all(folder);
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

TEST(Chat, SettingsHoldFromTheNextQuestionOn) {
    const Outcome talked = run({"chat", crosses(), "--threads", "1", "--max-tokens", "4", "--json"},
                               {.input = "How many crosses?\n/budget none\nHow many crosses?\n/budget "
                                         "64\n/method fastv\nHow many crosses?\n"});
    EXPECT_EQ(talked.code, 0) << talked.err;
    const auto lines = lines_of(talked.out);
    ASSERT_EQ(lines.size(), 3U) << talked.out;
    EXPECT_EQ(test::parsed(lines[0])["budget"]["asked"], "33%");
    EXPECT_EQ(test::parsed(lines[1])["tokens"]["final"], 576);
    EXPECT_EQ(test::parsed(lines[2])["budget"]["asked"], "64");
    EXPECT_EQ(test::parsed(lines[2])["method"], "fastv");
    for (const char* wrong : {"/budget many\n", "/method nothing\n", "/budge 3\n", "/image\n", "/save\n"}) {
        EXPECT_EQ(run({"chat", "--threads", "1"}, {.input = wrong}).code, 1) << wrong;
    }
}

TEST(Chat, MapsAndTheConversationAreKept) {
    const std::string folder = test::scratch_dir();
    const std::string map = folder + "/chat-map.png";
    const std::string words = folder + "/chat.md";
    const std::string json = folder + "/chat.json";
    const Outcome talked =
        run({"chat", "--threads", "1", "--max-tokens", "4", "--system", "Be brief."},
            {.input = crosses() + " How many crosses?\n/map\n/map " + map + "\n/save " + words + "\n/save '" +
                      json + "'\n/undo\n/map /no/such/folder/x.png\n/quit\n",
             .input_is_terminal = true});
    EXPECT_EQ(talked.code, 0) << talked.err;
    EXPECT_THAT(talked.err, HasSubstr("shown with the next question: " + crosses()));
    EXPECT_THAT(talked.err, HasSubstr("# pivot"));
    EXPECT_THAT(talked.err, HasSubstr(". . "));
    EXPECT_THAT(talked.err, HasSubstr("/no/such/folder"));
    EXPECT_TRUE(std::filesystem::exists(map));
    const auto saved = base::read_file(words, 1U << 20U);
    ASSERT_TRUE(saved.ok());
    EXPECT_THAT(*saved, HasSubstr("# system\n\nBe brief."));
    EXPECT_THAT(*saved, HasSubstr("# user\n\n[picture 1]\nHow many crosses?"));
    EXPECT_THAT(*saved, HasSubstr("# assistant\n\n"));
    const auto messages = test::parsed(*base::read_file(json, 1U << 20U))["messages"];
    EXPECT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[1]["content"], "How many crosses?");
    for (const std::string& file : {map, words, json}) std::filesystem::remove(file);
}

TEST(Chat, ProgramsGetMapsToo) {
    const std::string map = std::string(test::scratch_dir()) + "/chat-map-of-a-program.png";
    for (const std::string& more : {std::string(), "/image " + crosses() + "\n"}) {
        std::vector<std::string> arguments = {"chat", "--threads", "1", "--max-tokens", "2"};
        if (more.empty()) arguments.push_back(crosses());
        const Outcome talked =
            run(arguments, {.input = more + "How many crosses?\nAnd what colour?\n/map " + map + "\n"});
        EXPECT_EQ(talked.code, 0) << talked.err;
        EXPECT_TRUE(std::filesystem::remove(map));
    }
}

TEST(Chat, NothingIsWrittenOverAPictureThatWasShown) {
    const std::string mine = std::string(test::scratch_dir()) + "/chat-mine.png";
    std::filesystem::copy_file(crosses(), mine, std::filesystem::copy_options::overwrite_existing);
    const auto before = base::read_file(mine, 1U << 20U);
    ASSERT_TRUE(before.ok());
    const Outcome talked =
        run({"chat", "--threads", "1", "--max-tokens", "2"},
            {.input = mine + " What is it?\n/map " + mine + "\n/save " + mine + "\n/quit\n",
             .input_is_terminal = true});
    EXPECT_THAT(talked.err, HasSubstr("is a picture that is asked about"));
    EXPECT_THAT(talked.err, Not(HasSubstr("written: ")));
    EXPECT_EQ(*base::read_file(mine, 1U << 20U), *before);
    std::filesystem::remove(mine);
}

TEST(Chat, ABackslashGoesOnInTheNextLineForPeople) {
    const Outcome talked = run({"chat", "--threads", "1", "--max-tokens", "2", "--json"},
                               {.input = "Is it \\\nred?\n/quit\n", .input_is_terminal = true});
    EXPECT_EQ(lines_of(talked.out).size(), 1U) << talked.out;
    EXPECT_EQ(talked.code, 0) << talked.err;
}

// A picture that is not there is said before anybody types a question, and one that cannot be read does not
// stand in the way of the questions that follow.
TEST(Chat, APictureThatCannotBeReadIsNotShownForEver) {
    const Outcome absent = run({"chat", "/no/such/file.png"}, {.input = ""});
    EXPECT_EQ(absent.code, 1);
    EXPECT_THAT(absent.err, HasSubstr("/no/such/file.png"));
    const Outcome person =
        run({"chat", "--threads", "1", "--max-tokens", "2"},
            {.input = "/image /no/such/file.png\nHi?\n/image " + std::string(test::source_dir()) +
                      "/README.md\nWhat is it?\nHi?\n/quit\n",
             .input_is_terminal = true});
    EXPECT_EQ(person.code, 0) << person.err;
    EXPECT_THAT(person.err, HasSubstr("the pictures that were shown are left out again"));
    EXPECT_EQ(lines_of(person.out).size(), 2U) << person.out;
}

}  // namespace
}  // namespace clasp::cli
