// What becomes of pictures and clips in Qwen's models: their sizes, marks and times.
#pragma once

#include "clasp/image.h"
#include "clasp/status.h"
#include "model/clip_plan.h"
#include "model/vision_plan.h"
#include "model/vision_qwen_file.h"

namespace clasp::model {

Result<VisionPlan> plan_qwen_picture(const QwenFile& file, PixelSize picture, const PlanOptions& options);

// Two frames are a step. Its tokens lie in one grid with those of all others, between two marks; where steps
// have time stamps, and with llama.cpp, each has marks of its own.
Result<VisionPlan> plan_qwen_clip(const QwenFile& file, const ClipFrames& clip, const PlanOptions& options);

}  // namespace clasp::model
