#include "cli/process_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>

#ifdef CLASP_HAS_ENGINE
#include "clasp/fatal.h"
#endif

namespace clasp::cli {

namespace {

constexpr int kExitFailed = 1;

// Ends the process with one line. Uses only what a signal handler may use, and no memory.
[[noreturn]] void end_with(std::string_view what, std::string_view detail = {}) {
    static std::atomic<bool> is_ending{false};
    // Of several threads that fail at once the first one speaks.
    while (is_ending.exchange(true)) ::pause();
    std::array<char, 512> line{};
    std::size_t n = 0;
    const auto add = [&](std::string_view text) {
        for (const char c : text) {
            if (n + 1 < line.size()) line[n++] = c >= ' ' && c <= '~' ? c : ' ';
        }
    };
    add("clasp-vlm: ");
    add(what);
    add(detail);
    line[n++] = '\n';
    for (std::size_t at = 0; at < n;) {
        const ssize_t written = ::write(STDERR_FILENO, line.data() + at, n - at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        at += static_cast<std::size_t>(written);
    }
    ::_exit(kExitFailed);
}

[[noreturn]] void on_terminate() {
    try {
        const std::exception_ptr error = std::current_exception();
        if (error) std::rethrow_exception(error);
    } catch (const std::bad_alloc&) {
        end_with("not enough memory");
    } catch (const std::exception& error) {
        end_with("unexpected error: ", error.what());
    } catch (...) {
        end_with("unexpected error");
    }
    end_with("ended unexpectedly");
}

void on_bus_error(int /*signal_number*/) {
    end_with("a file in use was shortened or could not be read any more");
}

#ifdef CLASP_HAS_ENGINE
void on_ggml_abort(const char* message) {
    std::string_view text(message);
    // "folder/file.c:line: what": the folder is that of whoever built ggml.
    const std::size_t colon = text.find(':');
    const std::size_t slash = text.substr(0, colon).rfind('/');
    if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
    end_with("ggml gave up, as it does when memory or threads run out: ", text);
}
#endif

}  // namespace

void fill_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
        // open() takes the lowest free number, which is this one.
        const int direction = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        const int opened = ::open("/dev/null", direction);
        if (opened > STDERR_FILENO) ::close(opened);
    }
}

void guard_against_sudden_ends() {
    std::set_terminate(on_terminate);
    struct sigaction action = {};
    action.sa_handler = on_bus_error;
    sigemptyset(&action.sa_mask);
    static_cast<void>(::sigaction(SIGBUS, &action, nullptr));
#ifdef CLASP_HAS_ENGINE
    // ggml would fork and start a debugger to print a stack.
    static_cast<void>(::setenv("GGML_NO_BACKTRACE", "1", 0));
    set_fatal_handler(on_ggml_abort);
#endif
}

}  // namespace clasp::cli
