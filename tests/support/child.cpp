#include "support/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace clasp::test {

ChildResult run_in_child(const std::function<std::string()>& function, int limit_seconds) {
    std::array<int, 2> ends = {-1, -1};
    ChildResult result;
    if (::pipe(ends.data()) != 0) return result;
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        ::alarm(static_cast<unsigned>(limit_seconds));
        const std::string text = function();
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t n = ::write(ends[1], text.data() + at, text.size() - at);
            if (n <= 0) ::_exit(3);
            at += static_cast<std::size_t>(n);
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        result.text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return result;
    result.ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    result.how = WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                                   : "signal " + std::to_string(WTERMSIG(status));
    return result;
}

}  // namespace clasp::test
