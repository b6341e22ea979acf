#include "cli/clip_map_file.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "cli/map_file.h"
#include "cli/output.h"
#include "cli/output_path.h"
#include "cli/picture_file.h"
#include "draw/clip_map.h"
#include "draw/layout_view.h"
#include "draw/webp_writer.h"

namespace clasp::cli {

namespace {

constexpr int kStepMs = 600;

// The first view of each step: the whole frame, where there are tiles as well.
std::vector<draw::LayoutView> step_views(const ImageLayout& layout) {
    const std::vector<draw::LayoutView> views = draw::layout_views(layout);
    std::vector<draw::LayoutView> first;
    std::size_t step = 0;
    std::size_t token = 0;
    for (const TokenRegion& region : layout.regions) {
        if (region.step == step) {
            const std::size_t cell = token + region.first_cell();
            const auto view = std::find_if(views.begin(), views.end(), [&](const draw::LayoutView& v) {
                return std::find(v.tokens.begin(), v.tokens.end(), cell) != v.tokens.end();
            });
            if (view != views.end()) first.push_back(*view);
            ++step;
        }
        token += region.n_tokens();
    }
    return first;
}

std::size_t kept_of(const draw::StagePanel& panel, const draw::LayoutView& view) {
    return static_cast<std::size_t>(
        std::count_if(view.tokens.begin(), view.tokens.end(),
                      [&](std::size_t token) { return panel.marks[token] != draw::Mark::Dropped; }));
}

}  // namespace

Status write_clip_map(const std::string& map_path, const std::string& question, const Answer& answer,
                      const std::string& note) {
    const ClipReport& clip = answer.clips.front();
    const ImageLayout& layout = answer.layouts[clip.image];
    if (!layout.is_placed || clip.pictures.empty()) {
        return {Code::Unsupported,
                "this model does not say where the tokens of a frame lie, so there is no map of them"};
    }
    std::vector<draw::LayoutView> views = step_views(layout);
    if (views.size() != layout.n_steps) {
        return {Code::Internal, "the steps of the clip have no places on its frames"};
    }
    // Marks are of the tokens of all images, in their order.
    std::size_t n_before = 0;
    for (std::size_t i = 0; i < clip.image; ++i) n_before += answer.layouts[i].n_tokens();
    for (draw::LayoutView& view : views) {
        for (std::size_t& token : view.tokens) token += n_before;
    }
    const std::size_t per_step = clip.pictures.size() / layout.n_steps == 0
                                     ? 1
                                     : (clip.pictures.size() + layout.n_steps - 1) / layout.n_steps;
    const draw::StagePanel last = last_panel(answer);
    draw::ClipMap map;
    map.rows = views.front().rows;
    map.columns = views.front().columns;
    std::deque<draw::FramedPicture> framed;
    for (std::size_t step = 0; step < views.size(); ++step) {
        const std::size_t number = std::min(step * per_step, clip.pictures.size() - 1);
        CLASP_ASSIGN_OR_RETURN(
            draw::FramedPicture picture,
            draw::frame_picture(*clip.pictures[number], views[step].area, layout.pad_colour));
        framed.push_back(std::move(picture));
        draw::ClipStep one = {
            &framed.back().picture, framed.back().frame, {}, fixed(clip.seconds[number], 1) + " s"};
        const std::size_t behind = std::min(number + per_step, clip.seconds.size()) - 1;
        if (behind > number)
            one.title = fixed(clip.seconds[number], 1) + " to " + fixed(clip.seconds[behind], 1) + " s";
        for (const std::size_t token : views[step].tokens) one.marks.push_back(last.marks[token]);
        map.steps.push_back(std::move(one));
    }
    for (const StageReport& stage : answer.stages) {
        const draw::StagePanel panel = stage_panel(stage, answer.tokens.visual);
        draw::ClipMap::Curve curve = {panel.title, {}};
        for (const draw::LayoutView& view : views) curve.kept.push_back(kept_of(panel, view));
        map.curves.push_back(std::move(curve));
    }
    map.question = question;
    map.answer = answer.text;
    map.note = note;
    if (extension_of(map_path) == ".webp") {
        CLASP_ASSIGN_OR_RETURN(const std::vector<Image> steps, draw::draw_clip_steps(map));
        return draw::write_webp_animation(steps, kStepMs, map_path);
    }
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, draw::draw_clip_map(map));
    return write_picture(canvas.image(), map_path);
}

}  // namespace clasp::cli
