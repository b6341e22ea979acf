// Which tokens a request kept, stage by stage, drawn over the picture.
#pragma once

#include <string>
#include <vector>

#include "clasp/image.h"
#include "draw/canvas.h"
#include "draw/marks.h"
#include "image/resize.h"

namespace clasp::draw {

struct StagePanel {
    std::string title;        // for example "before layer 2"
    std::vector<Mark> marks;  // rows * columns, row by row
};

struct TokenMap {
    const Image* picture = nullptr;  // borrowed for the call
    // Where the picture stands on what the grid divides: LLaVA pads to a square before it cuts patches.
    // A size of 0 x 0 means the picture itself.
    image::Canvas frame;
    int rows = 0;
    int columns = 0;
    std::vector<StagePanel> stages;  // one panel each, beside the picture
    std::string question;
    std::string answer;
    std::string note;  // one faint line below: model, method, budget
};

// Panels side by side (more rows of them when there are many), pivots blue, coverage red, dropped tokens
// dimmed, counts below each panel, a legend, question and answer. Errors: InvalidArgument when the grid,
// the marks or the picture do not fit together, with the panel's title; OutOfMemory.
Result<Canvas> draw_token_map(const TokenMap& map);

}  // namespace clasp::draw
