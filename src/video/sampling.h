// Which frames of a clip a model sees: the rules of model families as data, and what a request may say
// instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "clasp/clip_choice.h"
#include "clasp/status.h"

namespace clasp::video {

struct SampleRule {
    enum class Places : std::uint8_t {
        Ends,     // the first frame, the last, and evenly between: round(linspace(0, total - 1, n))
        Floor,    // the same, rounded down
        Starts,   // the beginning of n equal parts: int(i * total / n)
        Middles,  // the middle of n equal parts: int(part / 2 + round(part * i)), part = (total - 1) / n
    };
    Places places = Places::Middles;
    std::size_t n_frames = 8;  // where nothing else is said; 0: by rate
    double fps = 0.0;          // by rate: so many frames per second,
    std::size_t min_frames = 1;
    std::size_t max_frames = 768;
    std::size_t multiple = 1;  // the count is floored to a multiple of this
    // A clip of few frames shows some of them several times, as the places have it; others show what there
    // is.
    bool repeats = false;
    // The model takes n_frames and no other number, also of frames that somebody else has chosen.
    bool is_fixed = false;
};

// More frames than this are refused, whatever a rule or a request says.
inline constexpr std::size_t kMaxSampledFrames = 768;

struct Sample {
    std::vector<std::size_t> frames;  // indices into the clip, never falling
    std::vector<double> seconds;      // when each is shown
    double fps = 0.0;                 // frames of the sample per second of the clip
};

// `seconds` are the times of a clip's frames, `fps` its rate. is_sampled: its frames were chosen by whoever
// made them (pictures given as frames), so that all are taken unless the request or a fixed number says
// otherwise. Errors (invalid_argument): nothing between start and end, more frames than there are, both a
// count and a rate, another number than a fixed one.
Result<Sample> sample_clip(std::span<const double> seconds, double fps, bool is_sampled,
                           const SampleRule& rule, const ClipChoice& choice);

}  // namespace clasp::video
