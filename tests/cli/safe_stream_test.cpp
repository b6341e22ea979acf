// Nothing that stands in a file or was typed reaches a terminal as a command.
#include "cli/safe_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "base/utf8.h"
#include "run_program.h"
#include "support/json.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

bool is_harmless(const std::string& text) {
    if (base::first_invalid_utf8(text)) return false;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = *base::next_code_point(text, at);
        if (c == U'\n') continue;
        if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x202a && c <= 0x202e)) return false;
    }
    return true;
}

constexpr const char* kHostile =
    "x\x1b]0;owned\x07\x1b[2J\r\xc2\x9b"
    "1A\xe2\x80\xae\xff\ny";

TEST(SafeStream, EscapesControlsAndKeepsLines) {
    std::ostringstream target;
    {
        SafeStream safe(target);
        safe << "a\x1b[1m\n\tb" << std::setw(5) << 7 << '\r' << std::flush;
    }
    EXPECT_EQ(target.str(), "a\\x1b[1m\n\tb    7\\x0d");
}

TEST(SafeStream, CharactersMayComeInPieces) {
    std::ostringstream target;
    SafeStream safe(target);
    const std::string text = "\xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x99\x82";
    for (const char c : text) safe << c << std::flush;
    EXPECT_EQ(target.str(), text);
}

TEST(SafeStream, AnUnfinishedCharacterIsWrittenOutInTheEnd) {
    std::ostringstream target;
    { SafeStream(target) << "a\xe6\x97"; }
    EXPECT_EQ(target.str(), "a\\xe6\\x97");
}

TEST(SafeStream, AFullDiskIsSeen) {
    std::ostringstream target;
    SafeStream safe(target);
    target.setstate(std::ios::badbit);
    safe << "x" << std::flush;
    EXPECT_FALSE(safe);
}

TEST(Injection, WhatWasTypedIsShownHarmlessInOneLine) {
    const std::string hostile = kHostile;
    const std::vector<std::vector<std::string>> cases = {
        {hostile},
        {"help", hostile},
        {"route", "--" + hostile},
        {"route", "What?", "--router", hostile},
        {"route", "--file", hostile},
        {"methods", hostile},
        {"policy", "show", hostile},
        {"policy", "check", hostile},
        {"policy", hostile},
        {"schedule", "--tokens", hostile},
        {"eval", hostile, "--data", ".", "--answers", hostile}};
    for (const auto& words : cases) {
        for (const bool on_terminal : {false, true}) {
            const Outcome result = run(words, {.on_terminal = on_terminal});
            EXPECT_NE(result.code, 0);
            EXPECT_TRUE(is_harmless(result.out + result.err)) << words[0] << ": " << result.err;
            EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        }
    }
}

// What a model says goes to a pipe as it is, and to a terminal without commands for it.
TEST(Injection, AnswersCommandNoTerminal) {
    for (const bool on_terminal : {false, true}) {
        std::ostringstream target;
        std::ostringstream err;
        {
            SafeStream safe(target);
            const Console console{
                .out = safe, .err = err, .out_is_terminal = on_terminal, .raw_out = &target};
            console.answers() << "two\nlines\tand \x1b[2J" << std::flush;
        }
        EXPECT_EQ(target.str(), on_terminal ? "two\nlines\tand \\x1b[2J" : "two\nlines\tand \x1b[2J");
    }
}

// A line break in a name would begin a line that looks like the program's own.
TEST(Injection, NamesOfWhatWasWrittenStayInTheirLine) {
    const std::string folder = std::string(test::scratch_dir()) + "/wrote\nerror: x";
    const Outcome scenes = run({"scenes", "--split", "test", "--count", "1", "--out", folder});
    EXPECT_EQ(scenes.code, 0) << scenes.err;
    EXPECT_THAT(scenes.out, HasSubstr("wrote\\x0aerror: x\n"));
    EXPECT_EQ(std::count(scenes.out.begin(), scenes.out.end(), '\n'), 1);
    const std::string data = folder + "/train.jsonl";
    std::ofstream file(data);
    for (int i = 0; i < 30; ++i) {
        file << R"({"text": "what is w)" << i << R"( it?", "benchmark": "b\nerror: )" << i % 3
             << R"(", "category": )" << i % 2 << "}\n";
    }
    file.close();
    const Outcome trained =
        run({"route", "train", "--data", data, "--out", folder + "/m", "--report", "left-out"});
    EXPECT_EQ(trained.code, 0) << trained.err;
    EXPECT_THAT(trained.err, Not(HasSubstr("\nerror: ")));
    EXPECT_THAT(trained.err, HasSubstr("left out b\\x0aerror: 0"));
    EXPECT_THAT(trained.err, HasSubstr("wrote\\x0aerror: x/m: "));
    std::filesystem::remove_all(folder);
}

TEST(Injection, NamesOfATaxonomyStayInTheirLine) {
    const std::string folder = test::scratch_dir();
    std::ofstream(folder + "/breaks.json") << R"({"version": 1, "name": "n", "default": 2,
               "classes": [{"id": 1, "name": "c\nerror: x"}, {"id": 2, "name": "other"}],
               "examples": [{"text": "How much is it?", "category": 1}, {"text": "Is it small?", "category": 2}]})";
    std::ofstream(folder + "/breaks.jsonl") << R"({"text": "How much\nerror: x?"})" << '\n';
    const std::vector<std::vector<std::string>> cases = {
        {"How much is it?", "--explain"}, {"How much is it?"}, {"--file", folder + "/breaks.jsonl"}};
    for (const auto& more : cases) {
        std::vector<std::string> words = {"route", "--taxonomy", folder + "/breaks.json", "--threshold", "0"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_THAT(outcome.out, HasSubstr("c\\x0aerror: x"));
        EXPECT_THAT(outcome.out, Not(HasSubstr("\nerror: x")));
    }
}

TEST(Injection, LongWordsAreCut) {
    const Outcome result = run({"methods", std::string(100000, 'x')});
    EXPECT_EQ(result.code, 2);
    EXPECT_LT(result.err.size(), 3000U);
    EXPECT_LT(run({std::string(100000, 'x')}).err.size(), 3000U);
    EXPECT_LT(run({"policy", "check", std::string(100000, 'x')}).err.size(), 3000U);
}

TEST(Injection, StringsOfFilesAreShownHarmless) {
    const std::string path = std::string(test::scratch_dir()) + "/hostile-policy.json";
    base::Json policy = test::parsed(run({"policy", "show", "llava", "--json"}).out);
    policy["classes"][0]["\x1b[31m\xe2\x80\xae\nkey"] = 1;
    std::ofstream(path) << base::dump_json(policy);
    const Outcome unknown_key = run({"policy", "check", path});
    EXPECT_EQ(unknown_key.code, 1);
    EXPECT_TRUE(is_harmless(unknown_key.err)) << unknown_key.err;
    EXPECT_EQ(std::count(unknown_key.err.begin(), unknown_key.err.end(), '\n'), 1);
    std::ofstream(path) << "{\"a\": \x1b[2J\n}";
    EXPECT_TRUE(is_harmless(run({"policy", "check", path}).err));

    const std::string taxonomy = std::string(test::scratch_dir()) + "/hostile.jsonl";
    std::ofstream(taxonomy) << "{\"text\": \"\x1b[2J\"}\n";
    EXPECT_TRUE(is_harmless(run({"route", "--file", taxonomy}).err));
}

TEST(Injection, JsonOnATerminalIsAscii) {
    const std::vector<std::string> words = {"route", "What is \xc2\x9b\xe2\x80\xae here?", "--explain",
                                            "--json"};
    const Outcome shown = run(words, {.on_terminal = true});
    ASSERT_EQ(shown.code, 0) << shown.err;
    for (const char c : shown.out) EXPECT_LT(static_cast<unsigned char>(c), 0x7f);
    EXPECT_EQ(test::parsed(shown.out), test::parsed(run(words).out));
}

}  // namespace
}  // namespace clasp::cli
