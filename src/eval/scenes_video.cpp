// Our own moving scenes, as `clasp-vlm scenes --video` writes them: questions.jsonl beside clips/.
#include "eval/scenes.h"
#include "eval/sets.h"

namespace clasp::eval {

namespace {

Result<Dataset> load_clips(const std::string& folder, const LoadOptions& /*options*/) {
    return load_scenes("scenes-video", folder);
}

}  // namespace

Benchmark scenes_video_benchmark() {
    return {.name = "scenes-video",
            .title = "Scenes in motion",
            .headline = "accuracy in percent (exact match)",
            .max_new_tokens = 32,
            .is_video = true,
            .load = load_clips,
            .match = match_by_id,
            .score = score_scenes};
}

}  // namespace clasp::eval
