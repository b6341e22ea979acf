// One flag for everything that may stop a request: its caller, or its deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace clasp::engine {

class StopFlag {
   public:
    using Clock = std::chrono::steady_clock;

    // cancel may be null; it must outlive this. Without a deadline nothing runs beside the request.
    StopFlag(const std::atomic<bool>* cancel, std::optional<Clock::time_point> deadline);
    ~StopFlag();
    StopFlag(const StopFlag&) = delete;
    StopFlag& operator=(const StopFlag&) = delete;

    // What the work polls; null when nothing can stop it.
    [[nodiscard]] const std::atomic<bool>* flag() const { return flag_; }
    // Whether it was the deadline.
    [[nodiscard]] bool has_timed_out() const { return has_timed_out_.load(); }

   private:
    const std::atomic<bool>* flag_;
    std::atomic<bool> own_{false};
    std::atomic<bool> has_timed_out_{false};
    std::jthread watcher_;  // joined before what it writes to goes
};

}  // namespace clasp::engine
