// The whole program where address space is short: an answer or one line, never an abort. Each case runs in a
// child process.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "cli/process_guard.h"
#include "run_program.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

constexpr std::size_t kMegabyte = 1000 * 1000;

struct Ending {
    int status = -1;
    std::string said;
};

// Asks a question with so much address space beyond what the test program has.
Ending ask_within(std::size_t megabytes) {
    std::array<int, 2> ends = {-1, -1};
    Ending ending;
    if (::pipe(ends.data()) != 0) return ending;
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120);
        ::dup2(ends[1], STDERR_FILENO);
        guard_against_sudden_ends();
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const std::size_t used = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const struct rlimit limit = {used + megabytes * kMegabyte, used + megabytes * kMegabyte};
        if (::setrlimit(RLIMIT_AS, &limit) != 0) ::_exit(9);
        const std::string root = test::source_dir();
        const Outcome outcome = run({"ask", root + "/examples/pictures/crosses.png",
                                     "How many crosses are there?", "--max-tokens", "2"});
        static_cast<void>(!::write(STDERR_FILENO, outcome.err.data(), outcome.err.size()));
        ::_exit(outcome.code);
    }
    ::close(ends[1]);
    std::array<char, 1024> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        ending.said.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ending.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return ending;
}

TEST(Limits, LittleAddressSpaceGivesAnAnswerOrOneLine) {
    bool has_failed = false;
    for (const std::size_t megabytes :
         {5U, 15U, 25U, 30U, 35U, 40U, 45U, 50U, 60U, 70U, 80U, 100U, 150U, 1000U}) {
        const Ending ending = ask_within(megabytes);
        EXPECT_TRUE(ending.status == 0 || ending.status == 1) << megabytes << " MB: " << ending.status;
        EXPECT_EQ(std::count(ending.said.begin(), ending.said.end(), '\n'), 1)
            << megabytes << " MB: " << ending.said;
        has_failed = has_failed || ending.status == 1;
        EXPECT_TRUE(ending.status == 0 || megabytes < 1000) << ending.said;
    }
    EXPECT_TRUE(has_failed) << "5 MB are too little";
}

}  // namespace
}  // namespace clasp::cli
