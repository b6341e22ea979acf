// Pictures of a request on their way to the encoder: what each becomes is known from its header; then it is
// decoded once and cut into pieces.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "engine/vision_memory.h"
#include "model/vision_model.h"

namespace clasp::engine {

struct PlannedPicture {
    std::string path;        // for messages; empty: bytes in memory
    std::string file;        // what was read from there
    std::string_view given;  // what the request brought instead
    model::PlanOptions planning;
    model::VisionPlan plan;

    [[nodiscard]] std::string_view bytes() const { return path.empty() ? given : std::string_view(file); }
};

// Reads the headers. Errors: those of read_image_header() and of the tower's plan; messages name the path.
Result<std::vector<PlannedPicture>> plan_pictures(const std::vector<ImageSource>& sources,
                                                  const model::VisionModel& model,
                                                  const model::PlanOptions& planning,
                                                  const std::atomic<bool>* cancel);

// Decodes and cuts. memory may be null; a picture that it has just seen is not decoded again, unless the
// decoded picture itself is wanted and was not kept.
Result<std::shared_ptr<const PreparedPicture>> prepare_picture(const PlannedPicture& picture,
                                                               const model::VisionModel& model,
                                                               bool wants_image, VisionMemory* memory,
                                                               const std::atomic<bool>* cancel);

}  // namespace clasp::engine
