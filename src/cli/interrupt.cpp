#include "cli/interrupt.h"

#include <csignal>

namespace clasp::cli {

namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> received{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void on_signal(int signal_number) {
    received.store(signal_number);
    stop_requested.store(true);
    std::signal(signal_number, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& interrupted() {
    static const bool is_installed = [] {
        std::signal(SIGINT, on_signal);
        std::signal(SIGTERM, on_signal);
        return true;
    }();
    static_cast<void>(is_installed);
    return stop_requested;
}

int interrupt_signal() {
    return received.load();
}

}  // namespace clasp::cli
