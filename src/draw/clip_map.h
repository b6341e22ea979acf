// Which tokens of a clip a request kept, over time: a contact sheet of its steps with a curve of what was
// kept of each, and the same as an animation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "clasp/image.h"
#include "draw/canvas.h"
#include "draw/marks.h"
#include "image/resize.h"

namespace clasp::draw {

struct ClipStep {
    const Image* picture = nullptr;  // a frame of the step, borrowed for the call
    image::Canvas frame;             // as in TokenMap
    std::vector<Mark> marks;         // rows * columns, row by row
    std::string title;               // "1.5 s"
};

struct ClipMap {
    int rows = 0;
    int columns = 0;
    std::vector<ClipStep> steps;
    // Tokens kept of each step, a curve for each stage.
    struct Curve {
        std::string name;
        std::vector<std::size_t> kept;
    };
    std::vector<Curve> curves;
    std::string question;
    std::string answer;
    std::string note;
};

// More steps than this are thinned out evenly on a contact sheet; the curves have all.
inline constexpr std::size_t kMaxSheetSteps = 40;

// Errors: InvalidArgument when the grid, marks, curves or pictures do not fit together.
Result<Canvas> draw_clip_map(const ClipMap& map);

// One picture for each step, all of one size.
Result<std::vector<Image>> draw_clip_steps(const ClipMap& map);

}  // namespace clasp::draw
