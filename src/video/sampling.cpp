#include "video/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/invalid.h"
#include "base/text.h"

namespace clasp::video {

namespace {

using base::invalid;

// A count that lacks less than this of a whole one is whole: what doubles lose, and less than what separates
// counts at 24000/1001, 30000/1001 or 60000/1001 frames a second from whole ones.
constexpr double kAlmostWhole = 1e-5;

// Halves to even, as the authors' libraries round.
std::size_t rounded(double value) {
    return static_cast<std::size_t>(std::nearbyint(value));
}

// Frames [first, first + n) of the clip.
struct Stretch {
    std::size_t first = 0;
    std::size_t n = 0;
};

Result<Stretch> stretch_of(std::span<const double> seconds, const ClipChoice& choice) {
    const double start = choice.start_s.value_or(0.0);
    const double end = choice.end_s.value_or(seconds.back());
    if (choice.start_s && choice.end_s && *choice.end_s < *choice.start_s) {
        return invalid("the end, " + base::format_exact(end) + " s, is before the start, " +
                       base::format_exact(start) + " s");
    }
    if (start > seconds.back()) {
        return invalid("the start, " + base::format_exact(start) + " s, is behind the clip's last frame at " +
                       base::format_exact(seconds.back()) + " s");
    }
    const auto first = std::lower_bound(seconds.begin(), seconds.end(), start);
    const auto last = std::upper_bound(first, seconds.end(), end);
    if (first == last) {
        return invalid("the clip has no frame from " + base::format_exact(start) + " s to " +
                       base::format_exact(end) + " s");
    }
    return Stretch{static_cast<std::size_t>(first - seconds.begin()), static_cast<std::size_t>(last - first)};
}

// How many frames of `total` at `fps` per second.
Result<std::size_t> count_frames(std::size_t total, double fps, bool is_sampled, const SampleRule& rule,
                                 const ClipChoice& choice) {
    if (choice.n_frames && choice.fps && !is_sampled) {
        return invalid("a number of frames and a rate exclude each other");
    }
    if (choice.n_frames) {
        if (*choice.n_frames == 0) return invalid("no frame at all is wanted");
        if (rule.is_fixed && *choice.n_frames != rule.n_frames) {
            return invalid("the model sees " + std::to_string(rule.n_frames) +
                           " frames of every clip, and no other number; " + std::to_string(*choice.n_frames) +
                           " are wanted");
        }
        if (rule.is_fixed) return *choice.n_frames;
        if (*choice.n_frames > total) {
            return invalid(std::to_string(*choice.n_frames) + " frames are wanted, and there are " +
                           std::to_string(total));
        }
        return *choice.n_frames;
    }
    if (rule.is_fixed && choice.fps && !is_sampled) {
        return invalid("the model sees " + std::to_string(rule.n_frames) +
                       " frames of every clip, whatever its rate");
    }
    if (rule.is_fixed) return rule.n_frames;
    if (is_sampled) return total;
    if (!choice.fps && rule.n_frames > 0) {
        return rule.repeats ? rule.n_frames : std::min(rule.n_frames, total);
    }
    const double rate = choice.fps.value_or(rule.fps);
    const auto floored = [&](std::size_t n) { return n / rule.multiple * rule.multiple; };
    // The authors compare before they floor.
    const double wanted = static_cast<double>(total) / fps * rate;
    const auto most = static_cast<double>(floored(std::min(rule.max_frames, total)));
    const double bounded = std::min(std::max(wanted, static_cast<double>(rule.min_frames)), most);
    return std::max<std::size_t>(floored(static_cast<std::size_t>(bounded + kAlmostWhole)), 1);
}

std::size_t place_of(std::size_t i, std::size_t n, std::size_t total, SampleRule::Places places) {
    const auto last = static_cast<double>(total - 1);
    const auto at = static_cast<double>(i);
    if (places == SampleRule::Places::Middles) {
        const double part = last / static_cast<double>(n);
        return static_cast<std::size_t>(part / 2.0 + std::nearbyint(part * at));
    }
    if (places == SampleRule::Places::Starts) return i * total / n;
    const double exact = n > 1 ? last * at / static_cast<double>(n - 1) : 0.0;
    return places == SampleRule::Places::Ends ? rounded(exact) : static_cast<std::size_t>(exact);
}

}  // namespace

Result<Sample> sample_clip(std::span<const double> seconds, double fps, bool is_sampled,
                           const SampleRule& rule, const ClipChoice& choice) {
    CLASP_ASSIGN_OR_RETURN(const Stretch stretch, stretch_of(seconds, choice));
    CLASP_ASSIGN_OR_RETURN(const std::size_t n, count_frames(stretch.n, fps, is_sampled, rule, choice));
    if (n > kMaxSampledFrames) {
        return Status(Code::TooLarge, std::to_string(n) + " frames are more than the limit of " +
                                          std::to_string(kMaxSampledFrames) + "; ask for fewer");
    }
    Sample sample;
    // As many as there are: each once, unless the rule itself shows some again.
    const bool takes_all = n == stretch.n && (is_sampled || !rule.repeats);
    const auto places = takes_all ? SampleRule::Places::Ends : rule.places;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t frame = stretch.first + place_of(i, n, stretch.n, places);
        sample.frames.push_back(std::min(frame, stretch.first + stretch.n - 1));
        sample.seconds.push_back(seconds[sample.frames.back()]);
    }
    const double rate = is_sampled ? choice.fps.value_or(fps) : fps;
    sample.fps = static_cast<double>(n) / static_cast<double>(stretch.n) * rate;
    if (is_sampled && choice.fps) {
        for (double& at : sample.seconds) at *= fps / *choice.fps;
    }
    return sample;
}

}  // namespace clasp::video
