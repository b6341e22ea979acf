// chat as a person uses it, on a terminal of its own: Ctrl-C stops an answer and not the conversation.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "support/paths.h"

namespace clasp::cli {
namespace {

constexpr char kCtrlC = '\x03';

// The program in a process of its own, which has the terminal.
class Terminal {
   public:
    explicit Terminal(const std::vector<std::string>& words) {
        const winsize size = {.ws_row = 40, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
        process_ = ::forkpty(&screen_, nullptr, nullptr, &size);
        if (process_ != 0) return;
        Console console{.out = std::cout,
                        .err = std::cerr,
                        .err_is_terminal = true,
                        .out_is_terminal = true,
                        .in = &std::cin,
                        .in_is_terminal = true};
        const std::vector<std::string_view> views(words.begin(), words.end());
        ::_exit(run_program(views, console));
    }
    ~Terminal() {
        if (process_ > 0 && !has_ended_) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
        if (screen_ >= 0) ::close(screen_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    // What comes on the screen until the text does, or nothing more.
    std::string read_until(const std::string& text) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
        std::string seen;
        while (unread_.find(text) == std::string::npos && std::chrono::steady_clock::now() < until) {
            pollfd ready = {.fd = screen_, .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 1000) < 1) continue;
            char bytes[4096];
            const ssize_t n = ::read(screen_, bytes, sizeof bytes);
            if (n <= 0) break;  // the program has ended
            unread_.append(bytes, static_cast<std::size_t>(n));
        }
        const std::size_t at = unread_.find(text);
        EXPECT_NE(at, std::string::npos) << "'" << text << "' never came, but: " << unread_;
        const std::size_t end = at == std::string::npos ? unread_.size() : at + text.size();
        seen = unread_.substr(0, end);
        unread_.erase(0, end);
        return seen;
    }
    void type(const std::string& keys) const {
        EXPECT_EQ(::write(screen_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
    }
    // The exit code, or minus the signal.
    int end() {
        int status = 0;
        EXPECT_EQ(::waitpid(process_, &status, 0), process_);
        has_ended_ = true;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

   private:
    int screen_ = -1;
    pid_t process_ = -1;
    bool has_ended_ = false;
    std::string unread_;
};

std::string picture_of(const std::string& name) {
    return std::string(test::source_dir()) + "/examples/pictures/" + name + ".png";
}

TEST(ChatOnATerminal, CtrlCStopsAnAnswerAndNotTheConversation) {
    // Words that are drawn at random go on for as long as they may.
    Terminal terminal(
        {"chat", picture_of("crosses"), "--threads", "1", "--temperature", "100", "--max-tokens", "1400"});
    terminal.read_until("> ");

    // While the picture is encoded, which is shown; it is still there for the next question.
    terminal.type("What is there?\r");
    terminal.read_until("looking at the picture");
    terminal.type({kCtrlC});
    terminal.read_until("the pictures are still there for the next question");
    terminal.read_until("> ");

    // While it writes: what came stays, with its figures.
    terminal.type("And now?\r");
    terminal.read_until("looking at the picture");
    terminal.read_until("reading the question");
    // Words of an answer, behind the line of progress that they clear.
    terminal.read_until("\r\x1b[K");
    terminal.type({kCtrlC});
    terminal.read_until("visual tokens in the end");
    terminal.read_until("stopped");
    terminal.read_until("> ");

    // With nothing under way it ends nothing either.
    terminal.type({kCtrlC});
    terminal.read_until("/quit or Ctrl-D ends");
    terminal.read_until("> ");
    terminal.type("/map\r");
    terminal.read_until("# pivot");
    terminal.type("/quit\r");
    EXPECT_EQ(terminal.end(), 0);
}

}  // namespace
}  // namespace clasp::cli
