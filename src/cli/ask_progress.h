// What ask does before the first word, as one line on a terminal that vanishes: loading, encoding, reading
// the prompt, each with the time that is left; and what it does after the last one.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "clasp/engine.h"
#include "cli/command.h"

namespace clasp::cli {

class AskProgress {
   public:
    explicit AskProgress(const Console& console) : console_(console) {}
    ~AskProgress() { clear(); }
    AskProgress(const AskProgress&) = delete;
    AskProgress& operator=(const AskProgress&) = delete;

    // For one task, which begins now; empty unless standard error is a terminal. This object must outlive it.
    [[nodiscard]] ProgressSink sink();
    // The console's log, for messages that may come while the line stands. The same holds.
    [[nodiscard]] LogSink log_sink();
    // Takes the line away; to be called before anything else is written.
    void clear();
    // The same, and keeps it away while `write` runs; for messages of any thread, one after the other.
    template <typename Write>
    void aside(const Write& write) {
        const std::lock_guard lock(mutex_);
        hide();
        write();
    }
    // The end of a command that loaded a model: its packed weights are written for the next start, unless the
    // command failed, whose message comes first, or Ctrl-C says that they need not be.
    Status finish_keeping(const Engine& engine, const Status& outcome);

   private:
    using Clock = std::chrono::steady_clock;

    void show(const Progress& progress);
    void hide();  // under the mutex

    const Console& console_;
    std::mutex mutex_;
    std::optional<Progress::Phase> phase_;
    Clock::time_point phase_start_ = {};
    Clock::time_point last_ = {};
    bool is_open_ = false;
};

}  // namespace clasp::cli
