#include "image/work.h"

#include <chrono>
#include <string>

#include "base/text.h"

namespace clasp::image {

namespace {

// Some tenths of a millisecond: small files cost few looks at the clock, and nobody waits for a stop.
constexpr std::uint64_t kUnitsBetweenLooks = std::uint64_t{1} << 16;

}  // namespace

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Work::Work(const ImageOptions& options, Clock clock)
    : max_units_(options.limits.max_work),
      max_seconds_(options.limits.max_seconds),
      cancel_(options.cancel),
      clock_(clock),
      start_(clock()) {}

bool Work::spend(std::uint64_t units) {
    if (is_stopped()) return false;
    if (units > max_units_ - spent_) {
        reason_ = Reason::Units;
        return false;
    }
    spent_ += units;
    if (spent_ < next_look_) return true;
    next_look_ = spent_ + kUnitsBetweenLooks;
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
        reason_ = Reason::Cancel;
    } else if (clock_() - start_ >= max_seconds_) {
        reason_ = Reason::Time;
    }
    return !is_stopped();
}

Status Work::status() const {
    switch (reason_) {
        case Reason::None: break;
        case Reason::Units:
            return {Code::TooLarge, "decoding the picture takes more work than the limit of " +
                                        std::to_string(max_units_) + " colour samples, all passes counted"};
        case Reason::Time:
            return {Code::TooLarge, "decoding the picture takes longer than the limit of " +
                                        base::format_number(max_seconds_) + " seconds"};
        case Reason::Cancel: return {Code::Cancelled, "cancelled"};
    }
    return ok_status();
}

}  // namespace clasp::image
