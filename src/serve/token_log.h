// The tokens of an answer, from the thread that writes it to the connection that tells of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "clasp/engine.h"

namespace clasp::serve {

class TokenLog {
   public:
    // keeps: whether anybody is going to take them; else they are counted.
    explicit TokenLog(bool keeps) : keeps_(keeps) {}

    // Tokens of the prompt that are not read again.
    void add_reused(std::size_t n_tokens) {
        const std::lock_guard lock(mutex_);
        times_.n_reused = n_tokens;
    }
    void add(const WrittenToken& token) {
        ++n_written_;
        if (token.text.find('\n') != std::string::npos) has_new_line_.store(true);
        const std::lock_guard lock(mutex_);
        const double now_ms = watch_.elapsed_ms();
        if (times_.n_written++ == 0) {
            times_.prompt_ms = now_ms;
        } else {
            gaps_ms_.push_back(now_ms - times_.prompt_ms - times_.predicted_ms);
        }
        times_.predicted_ms = now_ms - times_.prompt_ms;
        if (keeps_) tokens_.push_back(token);
    }
    // Those since the last time.
    std::vector<WrittenToken> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(tokens_, {});
    }
    [[nodiscard]] std::size_t n_written() const { return n_written_.load(); }
    [[nodiscard]] bool has_new_line() const { return has_new_line_.load(); }

    // How far the answer is.
    struct Times {
        std::size_t n_reused = 0;
        std::size_t n_written = 0;
        double prompt_ms = 0.0;  // from the arrival to the first token
        double predicted_ms = 0.0;
    };
    [[nodiscard]] Times times() const {
        const std::lock_guard lock(mutex_);
        return times_;
    }
    // Between its tokens so far.
    [[nodiscard]] std::vector<double> gaps_ms() const {
        const std::lock_guard lock(mutex_);
        return gaps_ms_;
    }
    [[nodiscard]] double elapsed_ms() const { return watch_.elapsed_ms(); }

   private:
    const bool keeps_;
    const base::Stopwatch watch_;
    std::atomic<std::size_t> n_written_{0};
    std::atomic<bool> has_new_line_{false};
    mutable std::mutex mutex_;
    std::vector<WrittenToken> tokens_;
    std::vector<double> gaps_ms_;
    Times times_;
};

}  // namespace clasp::serve
