// The whole program where address space is short: an answer or one line, never an abort. Each case runs in a
// child process.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "cli/process_guard.h"
#include "run_program.h"
#include "support/child.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

constexpr std::size_t kMegabyte = 1000 * 1000;

// Asks a question with so much address space beyond what the test program has.
test::Ending ask_within(std::size_t megabytes) {
    const auto ask = [megabytes] {
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
    };
    return test::end_of(ask, 120);
}

TEST(Limits, LittleAddressSpaceGivesAnAnswerOrOneLine) {
    bool has_failed = false;
    for (const std::size_t megabytes :
         {5U, 15U, 25U, 30U, 35U, 40U, 45U, 50U, 60U, 70U, 80U, 100U, 150U, 1000U}) {
        const test::Ending ending = ask_within(megabytes);
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
