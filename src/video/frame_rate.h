// How many frames a second a clip shows, from what its file says and from when its frames are shown.
#pragma once

#include <cstddef>

namespace clasp::video {

// `n_frames` frames take `length` seconds, the last one's included; `said` is the file's own rate, 0: none.
// Files round the times of frames, to milliseconds in Matroska, but not their rate. So the rate that the file
// says is taken where it gives the length within kRoundedSeconds or kRoundedPart, and after it the nearest
// whole number; what is neither, as in a clip of variable rate, shows n_frames / length on average. A length
// of 0 is unknown: the rate that is said, or 1. Never 0.
double frame_rate(std::size_t n_frames, double length, double said);

// Two roundings to milliseconds; and half of what 29.97 is off 30.
inline constexpr double kRoundedSeconds = 0.002;
inline constexpr double kRoundedPart = 0.0005;

}  // namespace clasp::video
