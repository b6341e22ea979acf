// What becomes of a clip: plans of its frames put together. Plain data, no ggml.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "clasp/image.h"
#include "clasp/status.h"
#include "model/vision_plan.h"

namespace clasp::model {

// The frames that were sampled of a clip, all of one size.
struct ClipFrames {
    PixelSize size;
    std::vector<double> seconds;  // per frame: when it is shown
    double fps = 0.0;             // frames of the sample per second of the clip

    [[nodiscard]] std::size_t n() const { return seconds.size(); }
};

// Frames as pictures that follow each other: each becomes what `frame` says of one, and is a step. Between
// frames stands the text that `between` gives: for frame 0 what comes before it, empty for nothing.
VisionPlan frames_plan(const ClipFrames& clip, const VisionPlan& frame,
                       const std::function<std::string(std::size_t frame)>& between);

// Two frames become one step of a single grid; the last frame of an odd number counts twice. Steps follow
// each other without anything between them. `fit` and `shape` are those of one frame.
VisionPlan pairs_plan(const ClipFrames& clip, const image::Fit& fit, const PieceShape& shape);

}  // namespace clasp::model
