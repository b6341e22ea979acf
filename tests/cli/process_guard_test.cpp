// How the program ends when something happens that no call returns: with one line and exit code 1. Each case
// runs in a child process.
#include "cli/process_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/mapped_file.h"
#include "support/child.h"
#include "support/paths.h"
#ifdef CLASP_HAS_ENGINE
#include <ggml.h>

#include "model/backend.h"
#endif

namespace clasp::cli {
namespace {

using test::Ending;

Ending end_of(const std::function<void()>& function) {
    return test::end_of([&function] {
        guard_against_sudden_ends();
        function();
    });
}

TEST(ProcessGuard, AFileThatShrinksWhileItIsMapped) {
    const std::string path = std::string(test::scratch_dir()) + "/shrinks-" + std::to_string(::getpid());
    std::ofstream(path) << std::string(100000, 'x');
    const Ending ending = end_of([&] {
        const auto file = base::MappedFile::open(path);
        if (!file.ok() || ::truncate(path.c_str(), 0) != 0) ::_exit(9);
        volatile std::byte last = file->bytes().back();
        static_cast<void>(last);
    });
    EXPECT_EQ(ending.status, 1);
    EXPECT_EQ(ending.said, "clasp-vlm: a file in use was shortened or could not be read any more\n");
    std::filesystem::remove(path);
}

TEST(ProcessGuard, ExceptionsThatNobodyCatches) {
    const Ending memory = end_of([] { std::thread([] { throw std::bad_alloc(); }).join(); });
    EXPECT_EQ(memory.status, 1);
    EXPECT_EQ(memory.said, "clasp-vlm: not enough memory\n");
    const Ending other = end_of([] { std::thread([] { throw std::runtime_error("two\nlines"); }).join(); });
    EXPECT_EQ(other.status, 1);
    EXPECT_EQ(other.said, "clasp-vlm: unexpected error: two lines\n");
}

#ifdef CLASP_HAS_ENGINE
// A folder of debuggers that would be found before the real ones, and leave a file when they start.
std::filesystem::path debuggers() {
    std::filesystem::path folder =
        std::filesystem::path(test::scratch_dir()) / ("debuggers-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    for (const char* name : {"gdb", "lldb"}) {
        std::ofstream(folder / name) << "#!/bin/sh\ntouch '" << (folder / "started").string() << "'\n";
        std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
    }
    return folder;
}

// What a program that embeds the engine gets when it does not say otherwise.
TEST(ProcessGuard, WithoutItGgmlStartsNoDebuggerEither) {
    const std::filesystem::path folder = debuggers();
    const Ending ending = test::end_of([&] {
        ::unsetenv("GGML_NO_BACKTRACE");
        ::setenv("PATH", (folder.string() + ":" + std::getenv("PATH")).c_str(), 1);
        if (!model::prepare_ggml().ok()) ::_exit(3);
        GGML_ABORT("no memory");
    });
    EXPECT_EQ(ending.status, -SIGABRT);
    EXPECT_NE(ending.said.find("no memory"), std::string::npos) << ending.said;
    EXPECT_EQ(ending.said.find('\n'), ending.said.size() - 1) << ending.said;
    EXPECT_FALSE(std::filesystem::exists(folder / "started"));
    std::filesystem::remove_all(folder);
}

TEST(ProcessGuard, GgmlGivesUpWithoutADebugger) {
    const std::filesystem::path folder = debuggers();
    const Ending ending = end_of([&] {
        ::setenv("PATH", (folder.string() + ":" + std::getenv("PATH")).c_str(), 1);
        std::thread other([] { GGML_ABORT("no memory"); });
        GGML_ASSERT(std::getenv("PATH") == nullptr);
    });
    EXPECT_EQ(ending.status, 1);
    EXPECT_TRUE(
        ending.said.starts_with("clasp-vlm: ggml gave up, as it does when memory or threads run out: "
                                "process_guard_test.cpp:"))
        << ending.said;
    EXPECT_EQ(ending.said.find('\n'), ending.said.size() - 1) << "one line, though two threads failed";
    EXPECT_FALSE(std::filesystem::exists(folder / "started"));
    std::filesystem::remove_all(folder);
}
#endif

TEST(ProcessGuard, ClosedStandardStreamsAreNotTakenByFiles) {
    const std::string path = std::string(test::scratch_dir()) + "/results-" + std::to_string(::getpid());
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int stream : {0, 1, 2}) ::close(stream);
        fill_standard_streams();
        const int results = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const bool is_behind = results > STDERR_FILENO;
        char byte = 'x';
        const bool all_fail = ::write(1, &byte, 1) < 0 && errno == EBADF && ::write(2, &byte, 1) < 0 &&
                              errno == EBADF && ::read(0, &byte, 1) < 0 && errno == EBADF;
        ::_exit(is_behind && all_fail ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(std::filesystem::file_size(path), 0U);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace clasp::cli
