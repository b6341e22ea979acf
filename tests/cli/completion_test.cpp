// The scripts for shells and the manual page, run by the shells and checked by the formatters that are there.
#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "cli/man_page.h"
#include "run_program.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string shell_file(const std::string& name, const std::string& text) {
    const std::string path = std::string(test::scratch_dir()) + "/" + name;
    std::ofstream(path) << text;
    return path;
}

struct ShellOutcome {
    int code;
    std::string out;
};

ShellOutcome shell(const std::string& command) {
    std::array<char, 4096> buffer{};
    std::string out;
    std::FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
    if (pipe == nullptr) return {-1, ""};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out += buffer.data();
    return {pclose(pipe), out};
}

bool is_installed(const std::string& program) {
    return shell("command -v " + program).code == 0;
}

// What bash would offer after these words, the last of which is unfinished.
std::vector<std::string> offers(const std::vector<std::string>& words, const std::string& folder = "/") {
    std::string script = "cd '" + folder + "'\n" + bash_completion() + "\nCOMP_WORDS=(clasp-vlm";
    for (const std::string& word : words) script += " '" + word + "'";
    script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
              "\n_clasp_vlm\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    const ShellOutcome result = shell("bash --norc --noprofile " + shell_file("offers.bash", script));
    EXPECT_EQ(result.code, 0) << result.out;
    std::vector<std::string> list;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) list.push_back(line);
    }
    return list;
}

TEST(Completion, EveryCommandAndOptionIsInEveryScript) {
    for (const std::string& script : {bash_completion(), zsh_completion(), fish_completion()}) {
        for (const Command& command : commands()) {
            EXPECT_THAT(script, HasSubstr(std::string(command.name)));
            for (const Option& option : full_options(command)) {
                EXPECT_THAT(script, HasSubstr(std::string(option.name)));
            }
        }
    }
    EXPECT_EQ(run({"completion", "bash"}).out, bash_completion());
    EXPECT_EQ(run({"completion", "ZSH"}).out, zsh_completion());
    EXPECT_EQ(run({"completion", "tcsh"}).code, 2);
}

TEST(Completion, BashOffersCommandsOptionsAndValues) {
    if (!is_installed("bash")) GTEST_SKIP() << "there is no bash";
    EXPECT_EQ(offers({"sched"}), std::vector<std::string>{"schedule"});
    EXPECT_THAT(offers({"route", "--rou"}), Contains("--router"));
    EXPECT_EQ(offers({"route", "--router", "l"}), std::vector<std::string>{"llm"});
    EXPECT_EQ(offers({"route", "--router", "=", "l"}), std::vector<std::string>{"llm"});
    EXPECT_EQ(offers({"fuse", "--policy", "qwen"}), std::vector<std::string>{"qwen2.5-vl"});
    EXPECT_EQ(offers({"fuse", "-c", "tex"}), std::vector<std::string>{"text"});
    EXPECT_EQ(offers({"methods", "sparse"}), (std::vector<std::string>{"sparsevlm", "sparsevlm+"}));
    EXPECT_EQ(offers({"policy", "sh"}), std::vector<std::string>{"show"});
    EXPECT_EQ(offers({"schedule", "--schedule", "paper-1"}),
              (std::vector<std::string>{"paper-128", "paper-192"}));
    EXPECT_THAT(offers({"eval", "mm"}), Contains("mmbench"));
    EXPECT_THAT(offers({"help", "sel"}), Contains("select"));
}

#ifdef CLASP_HAS_ENGINE
TEST(Completion, BashOffersModelsMethodsAndFiles) {
    if (!is_installed("bash")) GTEST_SKIP() << "there is no bash";
    EXPECT_THAT(offers({"ask", "-m", "ti"}), testing::ElementsAre("tiny", "tiny-video"));
    EXPECT_THAT(offers({"ask", "--method", "fast"}), Contains("fastv"));
    EXPECT_EQ(offers({"compare", "a.png", "--methods", "clasp,pdr"}),
              std::vector<std::string>{"clasp,pdrop"});
    const std::string folder = std::string(test::scratch_dir()) + "/completion";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/photo with blanks.png") << "x";
    EXPECT_EQ(offers({"ask", "phot"}, folder), std::vector<std::string>{"photo with blanks.png"});
    EXPECT_EQ(offers({"ask", "--map", "phot"}, folder), std::vector<std::string>{"photo with blanks.png"});
}
#endif

TEST(Completion, ZshAndFishReadTheirScripts) {
    if (is_installed("zsh")) {
        const ShellOutcome zsh = shell("zsh -n " + shell_file("_clasp-vlm", zsh_completion()));
        EXPECT_EQ(zsh.code, 0) << zsh.out;
        EXPECT_EQ(zsh.out, "");
    }
    if (is_installed("fish")) {
        const ShellOutcome fish =
            shell("fish --no-execute " + shell_file("clasp-vlm.fish", fish_completion()));
        EXPECT_EQ(fish.code, 0) << fish.out;
        // Not only read: asked.
        const ShellOutcome offered =
            shell("fish --no-config -c 'source " + shell_file("clasp-vlm.fish", fish_completion()) +
                  "; complete -C \"clasp-vlm route --router l\"'");
        EXPECT_THAT(offered.out, HasSubstr("llm")) << offered.out;
    }
}

TEST(ManPage, HasItsSectionsAndEveryCommand) {
    const std::string page = table_as_man_page();
    for (const char* section :
         {".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH COMMANDS", ".SH EXIT STATUS"}) {
        EXPECT_THAT(page, HasSubstr(section));
    }
    for (const Command& command : commands())
        EXPECT_THAT(page, HasSubstr(".SS " + std::string(command.name)));
    EXPECT_EQ(run({"help", "--man"}).out, page);
}

TEST(ManPage, FormattersHaveNothingToSay) {
    const std::string path = shell_file("clasp-vlm.1", table_as_man_page());
    if (is_installed("mandoc")) {
        // A page that is made at build time has no date.
        const ShellOutcome lint = shell("mandoc -T lint -W warning " + path + " | grep -v 'missing date'");
        EXPECT_EQ(lint.out, "");
    }
    if (is_installed("groff")) {
        const ShellOutcome groff = shell("groff -man -Tutf8 -ww -z " + path);
        EXPECT_EQ(groff.out, "");
    }
}

}  // namespace
}  // namespace clasp::cli
