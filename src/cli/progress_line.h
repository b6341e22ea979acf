// Progress of long work on standard error: a bar that redraws itself on a terminal, a line now and then
// elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/command.h"

namespace clasp::cli {

// "42 s", "3 min 20 s", "2 h 05 min"; "?" when negative.
std::string duration_text(double seconds);

class ProgressLine {
   public:
    // `unit` is what is counted, in the plural.
    ProgressLine(Console& console, std::string unit) : console_(console), unit_(std::move(unit)) {}

    // Draws if enough time has passed since the last time, or when all is done. seconds_left below 0 is
    // unknown; `more` follows the figures.
    void update(std::size_t done, std::size_t total, double rate, double seconds_left,
                const std::string& more = {});
    // Leaves the line for whatever is printed next.
    void finish();

   private:
    using Clock = std::chrono::steady_clock;

    Console& console_;
    std::string unit_;
    Clock::time_point last_ = {};
    bool is_open_ = false;
};

}  // namespace clasp::cli
