// A request between the connection that waits for it and the thread that computes it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "clasp/engine.h"
#include "serve/limits.h"
#include "serve/refusal.h"

namespace clasp::serve {

// The engine's side never waits for the connection's: what is written waits here, up to a limit.
class Job {
   public:
    using Clock = std::chrono::steady_clock;

    Job(const RequestLimits& limits, std::shared_ptr<const std::list<std::string>> pictures)
        : limits_(limits), pictures_(std::move(pictures)) {}
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    // ---- The connection's side ----

    struct News {
        std::string text;                // since the last time
        std::vector<Progress> progress;  // the same: where each phase began, and how far the last one is
        bool is_over = false;            // nothing more comes after this text
    };
    // Returns as soon as there are any, or with nothing after the time.
    News wait(std::chrono::milliseconds most);
    // The answer is not wanted any more.
    void cancel() { cancel_.store(true); }
    // Once it is over: the answer, its text whole whatever was taken before, or null and why there is none.
    [[nodiscard]] const Answer* answer() const { return std::get_if<Answer>(&*outcome_); }
    [[nodiscard]] const Refusal& refusal() const { return std::get<Refusal>(*outcome_); }
    // Milliseconds between its arrival and the first thing that was done for it.
    [[nodiscard]] double queue_ms() const { return queue_ms_.load(); }
    // Whether anything was done for it, and whether it is over. May be asked from any thread.
    [[nodiscard]] bool has_started() const { return has_started_.load(); }
    [[nodiscard]] bool is_over() const;

    // ---- The engine's side ----

    // Whether both have a picture of the same bytes.
    [[nodiscard]] bool shares_picture(const Job& other) const;
    [[nodiscard]] const std::shared_ptr<const std::list<std::string>>& pictures() const { return pictures_; }
    [[nodiscard]] const std::atomic<bool>& cancel_flag() const { return cancel_; }
    void add_text(std::string_view text);
    void set_progress(const Progress& progress);
    // Whether more than the limit has waited for the client for too long.
    [[nodiscard]] bool is_stalled() const;
    [[nodiscard]] bool is_late() const { return Clock::now() - arrived_ > limits_.max_request; }
    [[nodiscard]] bool has_waited_too_long() const { return Clock::now() - arrived_ > limits_.max_wait; }
    void start();
    void finish(std::variant<Answer, Refusal> outcome);

   private:
    const RequestLimits limits_;
    const std::shared_ptr<const std::list<std::string>> pictures_;  // bytes that the request borrows
    const Clock::time_point arrived_ = Clock::now();
    std::atomic<bool> cancel_{false};
    std::atomic<double> queue_ms_{0.0};
    std::atomic<bool> has_started_{false};
    mutable std::mutex mutex_;
    std::condition_variable has_news_;
    std::string text_;
    std::vector<Progress> progress_;
    std::optional<Progress::Phase> last_phase_;
    bool has_begun_phase_ = false;  // the last of these is where its phase began
    std::optional<Clock::time_point> full_since_;
    std::optional<std::variant<Answer, Refusal>> outcome_;
};

}  // namespace clasp::serve
