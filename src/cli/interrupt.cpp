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

void listen_to_signals() {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
}

}  // namespace

const std::atomic<bool>& interrupted() {
    static const bool is_installed = [] {
        listen_to_signals();
        return true;
    }();
    static_cast<void>(is_installed);
    return stop_requested;
}

void forget_interrupt() {
    received.store(0);
    stop_requested.store(false);
    listen_to_signals();
}

int interrupt_signal() {
    return received.load();
}

}  // namespace clasp::cli
