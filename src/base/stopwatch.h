// Wall-clock time since it was made, for the timings in results.
#pragma once

#include <chrono>

namespace clasp::base {

class Stopwatch {
   public:
    [[nodiscard]] double elapsed_ms() const {
        const std::chrono::duration<double, std::milli> elapsed = Clock::now() - begin_;
        return elapsed.count();
    }

   private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point begin_ = Clock::now();
};

}  // namespace clasp::base
