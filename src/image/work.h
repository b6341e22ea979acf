// What decoding one picture may cost, and whether anybody still wants it. A decoder reports its work a row or
// a piece of the file at a time and stops when it is told to.
#pragma once

#include <cstdint>

#include "clasp/image.h"

namespace clasp::image {

// Seconds of a clock that only goes forward.
using Clock = double (*)();
double steady_seconds();

// Costs that are not rows of pixels, in the same unit: one colour sample of one pixel in one pass.
inline constexpr std::uint64_t kMarkerWork = 256;    // a marker, chunk or block that is looked at
inline constexpr std::uint64_t kPackedByteWork = 4;  // a byte of compressed data

// Plain data inside: decoders whose library leaves by longjmp may hold a pointer to it.
class Work {
   public:
    explicit Work(const ImageOptions& options, Clock clock = steady_seconds);

    // Counts `units` of work. False: stop, and say what status() says; it never becomes true again.
    [[nodiscard]] bool spend(std::uint64_t units);

    [[nodiscard]] bool is_stopped() const { return reason_ != Reason::None; }
    [[nodiscard]] std::uint64_t spent() const { return spent_; }
    // Ok while work may go on. TooLarge names the limit; Cancelled.
    [[nodiscard]] Status status() const;

   private:
    enum class Reason : std::uint8_t { None, Units, Time, Cancel };

    std::uint64_t max_units_;
    double max_seconds_;
    const std::atomic<bool>* cancel_;
    Clock clock_;
    double start_;
    std::uint64_t spent_ = 0;
    std::uint64_t next_look_ = 0;  // work at which clock and flag are looked at again
    Reason reason_ = Reason::None;
};

}  // namespace clasp::image
