#include "support/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace clasp::test {

namespace {

// What the child wrote into the pipe that the function gets, and how it ended.
struct Run {
    std::string text;
    int status = -1;  // of waitpid(); -1: there was no child
};

Run fork_and_run(const std::function<void(int pipe)>& function, int limit_seconds) {
    std::array<int, 2> ends = {-1, -1};
    Run run;
    if (::pipe(ends.data()) != 0) return run;
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        ::alarm(static_cast<unsigned>(limit_seconds));
        function(ends[1]);
        ::_exit(0);
    }
    ::close(ends[1]);
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        run.text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    int status = 0;
    if (child > 0 && ::waitpid(child, &status, 0) == child) run.status = status;
    return run;
}

}  // namespace

ChildResult run_in_child(const std::function<std::string()>& function, int limit_seconds) {
    Run run = fork_and_run(
        [&function](int pipe) {
            const std::string text = function();
            for (std::size_t at = 0; at < text.size();) {
                const ssize_t n = ::write(pipe, text.data() + at, text.size() - at);
                if (n <= 0) ::_exit(3);
                at += static_cast<std::size_t>(n);
            }
        },
        limit_seconds);
    ChildResult result;
    result.text = std::move(run.text);
    if (run.status == -1) return result;
    result.ended_well = WIFEXITED(run.status) && WEXITSTATUS(run.status) == 0;
    result.how = WIFEXITED(run.status) ? "exit " + std::to_string(WEXITSTATUS(run.status))
                                       : "signal " + std::to_string(WTERMSIG(run.status));
    return result;
}

Ending end_of(const std::function<void()>& function, int limit_seconds) {
    Run run = fork_and_run(
        [&function](int pipe) {
            ::dup2(pipe, STDERR_FILENO);
            function();
        },
        limit_seconds);
    Ending ending;
    ending.said = std::move(run.text);
    if (run.status == -1) return ending;
    ending.status = WIFEXITED(run.status) ? WEXITSTATUS(run.status) : -WTERMSIG(run.status);
    return ending;
}

}  // namespace clasp::test
