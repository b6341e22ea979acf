// An image as the decoder gets it: its tokens in the arrangement of its plan, with fixed rows and text
// between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "clasp/status.h"
#include "engine/prefill.h"
#include "engine/visual_input.h"
#include "model/positions.h"
#include "model/text_model.h"
#include "model/vision_model.h"

namespace clasp::engine {

struct ArrangedImage {
    ArrangedImage() = default;
    ArrangedImage(ArrangedImage&&) = default;
    ArrangedImage& operator=(ArrangedImage&&) = default;
    ArrangedImage(const ArrangedImage&) = delete;  // parts point into it
    ArrangedImage& operator=(const ArrangedImage&) = delete;
    ~ArrangedImage() = default;

    std::vector<PromptPart> parts;   // borrow from the image and from `own`
    std::size_t n_rows = 0;          // of all parts
    std::int32_t n_lost_behind = 0;  // tokens behind the last part that were lost

    // What the parts of an image with fixed rows or text borrow from.
    struct Rows {
        std::vector<std::int32_t> tokens;
        std::vector<float> values;
        std::vector<std::int32_t> places;
        std::vector<float> masses;
        std::vector<std::int32_t> lines;
        std::vector<std::uint8_t> is_carried;
        std::vector<model::Position> offsets;  // where the decoder's rotation has planes
        std::vector<float> additions;          // of decoders with deepstack
        std::size_t first_token = 0;           // of the plan, of which this part holds what is left
        std::int32_t n_unpruned = 0;
    };
    std::deque<Rows> own;
};

// has_lost: tokens may have left before the decoder. Fixed rows of which no token is left do not enter.
// next_line numbers the lines of all images of a request. The image must outlive the result. Error:
// unsupported (a decoder whose positions have planes, and a picture that is not one grid, or a clip without
// times).
Result<ArrangedImage> arrange_image(const SeenImage& image, bool has_lost, const model::VisionModel& vision,
                                    const model::TextModel& text, std::int32_t& next_line);

// Text tokens that the arrangement of an image adds.
Result<std::size_t> count_image_text(const model::VisionPlan& plan, const model::TextModel& text);

}  // namespace clasp::engine
