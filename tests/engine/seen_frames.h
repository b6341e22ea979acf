// What the authors of each family of models see of some files: which frames, counted by hand from their
// rules.
#pragma once

#include <cstddef>
#include <vector>

namespace clasp {

// A film as its authors published it.
inline constexpr const char* kFilm = "tests/data/images/bigbuckbunny.mp4";

struct SeenOf {
    using Frames = std::vector<std::size_t>;
    const char* path;
    Frames qwen;      // two a second, at least 4, both ends
    Frames authors;   // Video-LLaVA of four frames, both ends, rounded down
    Frames port;      // the beginnings of as many parts
    Frames internvl;  // the middles of eight parts
    Frames others;    // the same, each frame once
};

inline std::vector<SeenOf> seen_animations() {
    const SeenOf::Frames middles = {2, 7, 12, 17, 22, 28, 33, 38};
    const SeenOf::Frames of_twenty = {1, 3, 6, 8, 11, 13, 15, 18};
    const SeenOf photo = {"tests/data/images/anim_photo.gif",
                          {0, 14, 27, 41},
                          {0, 13, 27, 41},
                          {0, 10, 21, 31},
                          middles,
                          middles};
    SeenOf photo_in_webp = photo;
    photo_in_webp.path = "tests/data/images/anim_photo.webp";
    const SeenOf ball = {"tests/data/images/anim_ball.apng.png",
                         {0, 6, 13, 19},
                         {0, 6, 12, 19},
                         {0, 5, 10, 15},
                         of_twenty,
                         of_twenty};
    const SeenOf cross = {
        "examples/clips/cross.webp", {0, 2, 5, 7}, {0, 2, 4, 7}, {0, 2, 4, 6}, {0, 1, 2, 3, 4, 4, 5, 6},
        {0, 1, 2, 3, 4, 5, 6, 7}};
    return {photo, photo_in_webp, ball, cross};
}

inline std::vector<SeenOf> seen_video_files() {
    const SeenOf::Frames middles = {3, 9, 15, 21, 27, 34, 40, 46};
    const SeenOf small = {"fuzz/seeds/clip/small.mp4", {0, 1, 3, 4},   {0, 1, 2, 4}, {0, 1, 2, 3},
                          {0, 0, 1, 2, 2, 2, 3, 4},    {0, 1, 2, 3, 4}};
    SeenOf small_in_webm = small;
    small_in_webm.path = "fuzz/seeds/clip/small.webm";
    const SeenOf film = {kFilm, {0, 16, 33, 49}, {0, 16, 32, 49}, {0, 12, 25, 37}, middles, middles};
    return {small, small_in_webm, film};
}

}  // namespace clasp
