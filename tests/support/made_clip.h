// Video files made in place, so that tests know every frame: frame i is grey and as bright as
// brightness_of(i).
#pragma once

#include <string>
#include <vector>

namespace clasp::test {

struct MadeClip {
    std::string format = "mp4";  // FFmpeg's name of the container: mp4, matroska, avi, mov, webm
    std::string codec = "mpeg4";
    int width = 64;
    int height = 48;
    int fps = 10;
    int n_frames = 30;
    int key_every = 12;
    int n_between = 0;        // frames that are predicted from later ones
    bool is_noisy = false;    // brightness varies within a frame, which makes files large
    bool with_sound = false;  // a second stream, of raw samples
    // When each frame is shown, and when the last one ends, in 1/fps s; empty: one after the other.
    std::vector<int> ticks = {};
};

inline int brightness_of(int frame) {
    return 16 + frame * 7 % 220;
}

// False when this FFmpeg lacks the encoder or the container.
bool make_clip(const MadeClip& clip, const std::string& path);

}  // namespace clasp::test
