#include "cli/progress_line.h"

#include <cmath>
#include <ostream>

#include "base/text.h"
#include "cli/output.h"

namespace clasp::cli {

namespace {

constexpr std::chrono::milliseconds kTerminalPause(200);
constexpr std::chrono::seconds kFilePause(15);
constexpr std::size_t kBarWidth = 28;
constexpr std::size_t kLongestMore = 60;

}  // namespace

std::string duration_text(double seconds) {
    if (!(seconds >= 0.0)) return "?";
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (whole < 60) return std::to_string(whole) + " s";
    const long long minutes = whole / 60;
    if (minutes < 60) return std::to_string(minutes) + " min " + std::to_string(whole % 60) + " s";
    return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

void ProgressLine::update(std::size_t done, std::size_t total, double rate, double seconds_left,
                          const std::string& more) {
    const Clock::time_point now = Clock::now();
    const auto pause =
        console_.err_is_terminal ? Clock::duration(kTerminalPause) : Clock::duration(kFilePause);
    if (now - last_ < pause && done < total) return;
    last_ = now;
    std::string line = std::to_string(done) + "/" + std::to_string(total) + " " + unit_ + "  " +
                       fixed(rate, 1) + "/s  " + duration_text(seconds_left) + " left";
    if (!more.empty()) line += "  " + base::printable(more, kLongestMore);
    if (!console_.err_is_terminal) {
        console_.err << line << std::endl;
        return;
    }
    const std::size_t filled = total > 0 ? done * kBarWidth / total : kBarWidth;
    console_.terminal() << "\r[" << std::string(filled, '#') << std::string(kBarWidth - filled, '.') << "] "
                        << line << "\x1b[K" << std::flush;
    is_open_ = true;
}

void ProgressLine::finish() {
    if (is_open_) console_.terminal() << std::endl;
    is_open_ = false;
}

}  // namespace clasp::cli
