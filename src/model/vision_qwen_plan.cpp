#include "model/vision_qwen_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "model/smart_resize.h"

namespace clasp::model {

namespace {

constexpr TokenRange kLlamaCppTokens = {8, 4096};
// Of a position. At 30000/1001 frames a second a step takes 2.002, which stays what it is.
constexpr double kAlmostWhole = 5e-4;

// Around a picture, or the steps of a clip.
struct QwenMarks {
    std::string start;
    std::string end;
};

QwenMarks marks_of(const QwenFile& file, Compat compat) {
    if (compat == Compat::LlamaCpp) return {std::string(kQwenVisionStart), std::string(kQwenVisionEnd)};
    return {std::string(file.generation->start), std::string(file.generation->end)};
}

Result<PixelSize> resized(const QwenFile& file, PixelSize picture, const PlanOptions& options) {
    const bool is_original = options.compat == Compat::Original;
    const TokenRange usual = is_original ? *file.info.token_range : kLlamaCppTokens;
    const PictureDetail& detail = options.detail;
    return smart_resize(picture,
                        {.token_side = static_cast<int>(file.info.patch_size * file.info.capabilities.merge),
                         .min_tokens = detail.min_tokens != 0 ? detail.min_tokens : usual.min,
                         .max_tokens = detail.max_tokens != 0 ? detail.max_tokens : usual.max},
                        options.compat);
}

// The more frames, the fewer tokens each may have.
Result<PixelSize> resized_frame(const QwenFile& file, const ClipFrames& clip, const PlanOptions& options) {
    if (options.compat == Compat::LlamaCpp) return resized(file, clip.size, options);
    const auto side = static_cast<int>(file.info.patch_size * file.info.capabilities.merge);
    const PictureDetail& detail = options.detail;
    SmartResize rule = {.token_side = side,
                        .min_tokens = detail.min_tokens != 0 ? detail.min_tokens : kQwenFrameTokens.min,
                        .max_tokens = detail.max_tokens != 0 ? detail.max_tokens : kQwenFrameTokens.max};
    // A limit that was asked for is stronger than one that was not.
    if (detail.min_tokens == 0) rule.min_tokens = std::min(rule.min_tokens, rule.max_tokens);
    if (detail.max_tokens == 0) rule.max_tokens = std::max(rule.min_tokens, rule.max_tokens);
    if (detail.max_tokens == 0 && detail.min_tokens == 0) {
        const double area = static_cast<double>(side) * side;
        const double share = kQwenClipTokens * area / static_cast<double>(clip.n()) * 2.0;
        const double least = std::floor(1.05 * static_cast<double>(kQwenFrameTokens.min) * area);
        rule.max_pixels = std::max(std::min(static_cast<double>(kQwenFrameTokens.max) * area, share), least);
    }
    return smart_resize(clip.size, rule, options.compat);
}

// The original stretches the picture by the few pixels that are missing; llama.cpp pads with black.
image::Fit fit_of(PixelSize picture, PixelSize size, Compat compat) {
    return compat == Compat::Original
               ? image::stretch_fit(size, image::Filter::Bicubic)
               : image::padded_fit(picture, size, {0, 0, 0}, image::Filter::Bicubic, compat);
}

PieceShape shape_of(const QwenFile& file, PixelSize size) {
    const std::size_t patch = file.info.patch_size;
    return {.patches = {static_cast<std::size_t>(size.height) / patch,
                        static_cast<std::size_t>(size.width) / patch},
            .n_prefix = 0,
            .merge = file.info.capabilities.merge};
}

ArrangedRun text_run(std::string text) {
    return {.kind = ArrangedRun::Kind::Text, .text = std::move(text)};
}

// The position of each step, which is two frames. One that takes almost a whole number of positions takes
// that many: files round times, and what they lose would otherwise put every step one position too early.
// Else in single precision, as the original counts.
std::vector<std::int32_t> step_times(std::size_t n_steps, double fps, double positions_per_second) {
    const double seconds = 2.0 / fps;
    const double whole = std::nearbyint(seconds * positions_per_second);
    const bool is_whole = std::abs(seconds * positions_per_second - whole) <= kAlmostWhole;
    std::vector<std::int32_t> times;
    for (std::size_t i = 0; i < n_steps; ++i) {
        const auto step = static_cast<float>(i);
        const float time =
            is_whole ? step * static_cast<float>(whole)
                     : step * static_cast<float>(seconds) * static_cast<float>(positions_per_second);
        times.push_back(static_cast<std::int32_t>(time));
    }
    return times;
}

// The text before a step of Qwen3-VL: the mean time of its two frames.
std::string time_stamp(const ClipFrames& clip, std::size_t step) {
    const double first = clip.seconds[2 * step];
    const double second = clip.seconds[std::min(2 * step + 1, clip.n() - 1)];
    std::array<char, 64> text = {};
    std::snprintf(text.data(), text.size(), "<%.1f seconds>", (first + second) / 2.0);
    return text.data();
}

}  // namespace

Result<VisionPlan> plan_qwen_picture(const QwenFile& file, PixelSize picture, const PlanOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const PixelSize size, resized(file, picture, options));
    VisionPlan plan = single_piece_plan(picture, fit_of(picture, size, options.compat), shape_of(file, size));
    const QwenMarks marks = marks_of(file, options.compat);
    plan.arrangement.insert(plan.arrangement.begin(), text_run(marks.start));
    plan.arrangement.push_back(text_run(marks.end));
    return plan;
}

Result<VisionPlan> plan_qwen_clip(const QwenFile& file, const ClipFrames& clip, const PlanOptions& options) {
    CLASP_ASSIGN_OR_RETURN(const PixelSize size, resized_frame(file, clip, options));
    VisionPlan plan = pairs_plan(clip, fit_of(clip.size, size, options.compat), shape_of(file, size));
    const bool is_original = options.compat == Compat::Original;
    const bool has_stamps = is_original && file.generation->has_time_stamps;
    const QwenMarks marks = marks_of(file, options.compat);
    const std::vector<ArrangedRun> steps = std::exchange(plan.arrangement, {});
    plan.times.assign(steps.size(), 0);
    if (is_original && !has_stamps) {
        const double rate = file.generation->positions_per_second;
        // Without times every step is a position behind the one before.
        plan.times = step_times(steps.size(), rate > 0.0 ? clip.fps : 2.0, rate > 0.0 ? rate : 1.0);
        plan.arrangement = {text_run(marks.start)};
        plan.arrangement.insert(plan.arrangement.end(), steps.begin(), steps.end());
        plan.arrangement.push_back(text_run(marks.end));
        return plan;
    }
    std::string before;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (has_stamps) before += time_stamp(clip, i);
        plan.arrangement.push_back(text_run(std::exchange(before, marks.end) + marks.start));
        plan.arrangement.push_back(steps[i]);
    }
    plan.arrangement.push_back(text_run(marks.end));
    return plan;
}

}  // namespace clasp::model
