// Pictures of a request on their way to the encoder: what each becomes is known from its header; then it is
// decoded once and cut into pieces.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/engine.h"
#include "engine/vision_memory.h"
#include "model/vision_model.h"
#include "video/clip.h"
#include "video/sampling.h"

namespace clasp::engine {

struct PlannedPicture {
    std::string path;        // for messages; empty: bytes in memory
    std::string file;        // what was read from there
    std::string_view given;  // what the request brought instead
    model::PlanOptions planning;
    std::string scope;  // AskRequest::cache_scope
    model::VisionPlan plan;
    // Of a clip; null for a picture. Decoding changes where it stands, so that it serves one request.
    std::shared_ptr<video::Clip> clip;
    video::Sample sample;

    [[nodiscard]] std::string_view bytes() const { return path.empty() ? given : std::string_view(file); }
};

// Reads the headers, and of clips what frames they have. Errors: those of read_image_header(), of clips, of
// their sampling and of the tower's plan; messages name the path.
Result<std::vector<PlannedPicture>> plan_pictures(const std::vector<ImageSource>& sources,
                                                  const model::VisionModel& model,
                                                  const model::PlanOptions& planning,
                                                  const std::atomic<bool>* cancel,
                                                  const ClipChoice& choice = {});

// The largest number of frames that any clip is seen at, of those whose frames the model's rule chooses; 0:
// there is none, the request says how many, or the model takes no other number.
std::size_t most_frames_of_ours(const model::VisionModel& model, const ClipChoice& choice,
                                const std::vector<PlannedPicture>& pictures);
// Plans these clips anew, by the same rule but with at most so many frames each.
Status see_fewer_frames(const model::VisionModel& model, const ClipChoice& choice, std::size_t max_frames,
                        std::vector<PlannedPicture>& pictures);

// Decodes and cuts. memory may be null; a picture that it has just seen is not decoded again, unless the
// decoded picture itself is wanted and was not kept.
Result<std::shared_ptr<const PreparedPicture>> prepare_picture(const PlannedPicture& picture,
                                                               const model::VisionModel& model,
                                                               bool wants_image, VisionMemory* memory,
                                                               const std::atomic<bool>* cancel);

}  // namespace clasp::engine
