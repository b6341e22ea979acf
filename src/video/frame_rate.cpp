#include "video/frame_rate.h"

#include <algorithm>
#include <cmath>

namespace clasp::video {

double frame_rate(std::size_t n_frames, double length, double said) {
    const bool is_said = std::isfinite(said) && said > 0.0;
    if (!std::isfinite(length) || length <= 0.0) return is_said ? said : 1.0;
    const auto n = static_cast<double>(n_frames);
    const double allowed = std::max(kRoundedSeconds, length * kRoundedPart);
    const auto fits = [&](double rate) { return std::abs(n / rate - length) <= allowed; };
    const double measured = n / length;
    if (is_said && fits(said)) return said;
    const double whole = std::nearbyint(measured);
    return whole > 0.0 && fits(whole) ? whole : measured;
}

}  // namespace clasp::video
