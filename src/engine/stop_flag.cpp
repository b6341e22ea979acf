#include "engine/stop_flag.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace clasp::engine {

namespace {

// How long a caller's flag may wait to be seen while a deadline is watched.
constexpr std::chrono::milliseconds kPoll{5};

}  // namespace

StopFlag::StopFlag(const std::atomic<bool>* cancel, std::optional<Clock::time_point> deadline)
    : flag_(deadline ? &own_ : cancel) {
    if (!deadline) return;
    if (*deadline <= Clock::now()) {
        has_timed_out_ = own_ = true;
        return;
    }
    watcher_ = std::jthread([this, cancel, deadline = *deadline](const std::stop_token& finished) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!finished.stop_requested()) {
            if (cancel != nullptr && cancel->load()) {
                own_ = true;
                return;
            }
            if (Clock::now() >= deadline) {
                has_timed_out_ = true;
                own_ = true;
                return;
            }
            const auto next = cancel != nullptr ? std::min(deadline, Clock::now() + kPoll) : deadline;
            wake.wait_until(lock, finished, next, [] { return false; });
        }
    });
}

StopFlag::~StopFlag() = default;

}  // namespace clasp::engine
