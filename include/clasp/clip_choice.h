// What a request may say about the frames of a clip.
#pragma once

#include <cstddef>
#include <optional>

namespace clasp {

// Nothing: as the model's authors have it.
struct ClipChoice {
    std::optional<std::size_t> n_frames = {};  // so many frames,
    std::optional<double> fps = {};      // or so many per second; frames given as pictures were taken so
    std::optional<double> start_s = {};  // of the clip: from here,
    std::optional<double> end_s = {};    // to here

    friend bool operator==(const ClipChoice&, const ClipChoice&) = default;
};

}  // namespace clasp
