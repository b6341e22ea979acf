#include "cli/map_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/clip_map_file.h"
#include "cli/output.h"
#include "cli/picture_file.h"
#include "draw/layout_view.h"
#include "draw/token_map.h"
#include "video/clip.h"

namespace clasp::cli {

namespace {

// What stands around the panels of a map.
struct MapText {
    std::string question;
    std::string answer;
    std::string note;
};

// The panel with the marks of one view's tokens. first: of the view's image among those of all images.
draw::StagePanel panel_of_view(const draw::StagePanel& panel, const draw::LayoutView& view,
                               std::size_t first) {
    draw::StagePanel part;
    part.title = panel.title;
    for (const std::size_t token : view.tokens) part.marks.push_back(panel.marks[first + token]);
    return part;
}

// Maps of several views stand below each other.
Result<draw::Canvas> stacked(const std::vector<draw::Canvas>& maps) {
    int width = 0;
    int height = 0;
    for (const draw::Canvas& map : maps) {
        width = std::max(width, map.width());
        height += map.height();
    }
    CLASP_ASSIGN_OR_RETURN(draw::Canvas all, draw::Canvas::make(width, height));
    int top = 0;
    for (const draw::Canvas& map : maps) {
        all.paste(map.image(), 0, top);
        top += map.height();
    }
    return all;
}

// A map for each view of an image, without question, answer and note.
Status add_views(const Image& picture, const ImageLayout& layout, std::size_t first,
                 const std::vector<draw::StagePanel>& panels, std::vector<draw::TokenMap>& maps,
                 std::vector<draw::FramedPicture>& framed) {
    if (!layout.is_placed) {
        return {Code::Unsupported,
                "this model does not say where the tokens of a picture lie, so there is no map of them"};
    }
    for (const draw::LayoutView& view : draw::layout_views(layout)) {
        CLASP_ASSIGN_OR_RETURN(draw::FramedPicture part,
                               draw::frame_picture(picture, view.area, layout.pad_colour));
        draw::TokenMap map;
        map.frame = part.frame;
        map.rows = view.rows;
        map.columns = view.columns;
        for (const draw::StagePanel& panel : panels) map.stages.push_back(panel_of_view(panel, view, first));
        maps.push_back(std::move(map));
        framed.push_back(std::move(part));
    }
    return ok_status();
}

// panels mark the tokens of all images, which are drawn one after the other.
Result<draw::Canvas> draw_views(const Answer& answer, const std::vector<draw::StagePanel>& panels,
                                const MapText& text) {
    const auto is_drawn = [](const auto& picture) { return picture != nullptr; };
    if (answer.pictures.empty() || answer.pictures.size() != answer.layouts.size() ||
        !std::all_of(answer.pictures.begin(), answer.pictures.end(), is_drawn)) {
        return Status(Code::InvalidArgument, "the answer brings no picture to draw on");
    }
    std::vector<draw::TokenMap> views;
    std::vector<draw::FramedPicture> framed;
    std::size_t first = 0;
    for (std::size_t i = 0; i < answer.layouts.size(); ++i) {
        CLASP_RETURN_IF_ERROR(
            add_views(*answer.pictures[i], answer.layouts[i], first, panels, views, framed));
        first += answer.layouts[i].n_tokens();
    }
    views.front().question = text.question;
    views.back().answer = text.answer;
    views.back().note = text.note;
    std::vector<draw::Canvas> maps;
    for (std::size_t i = 0; i < views.size(); ++i) {
        views[i].picture = &framed[i].picture;
        CLASP_ASSIGN_OR_RETURN(draw::Canvas canvas, draw::draw_token_map(views[i]));
        maps.push_back(std::move(canvas));
    }
    if (maps.size() == 1) return std::move(maps.front());
    return stacked(maps);
}

bool has_clip(std::span<const ImageSource> images) {
    return std::any_of(images.begin(), images.end(), [](const ImageSource& image) {
        return video::is_clip({image.path, image.bytes, image.frames});
    });
}

}  // namespace

Status check_token_map(const std::string& map_path, std::span<const ImageSource> images) {
    if (!has_clip(images))
        return is_animation_name(map_path) ? no_animation_of_picture(map_path) : ok_status();
    if (images.size() == 1) return ok_status();
    return {Code::InvalidArgument, "a map is of one clip, or of pictures alone, and a clip is among " +
                                       std::to_string(images.size()) + " images"};
}

Status check_comparison_map(std::span<const ImageSource> images) {
    if (!has_clip(images)) return ok_status();
    return {Code::InvalidArgument, "answers about a clip are not drawn side by side; 'ask' draws one"};
}

draw::StagePanel stage_panel(const StageReport& stage, std::size_t n_tokens) {
    draw::StagePanel panel;
    panel.title = stage.site == "before"
                      ? "entering"
                      : std::string(stage_mode_name(stage.when)) + " layer " + std::to_string(stage.layer);
    panel.marks.assign(n_tokens, draw::Mark::Dropped);
    for (const TokenIndex token : stage.kept) panel.marks[token] = draw::Mark::Kept;
    for (const TokenIndex token : stage.pivots) panel.marks[token] = draw::Mark::Pivot;
    for (const TokenIndex token : stage.coverage) panel.marks[token] = draw::Mark::Coverage;
    for (const TokenIndex token : stage.merged) panel.marks[token] = draw::Mark::Merged;
    return panel;
}

draw::StagePanel last_panel(const Answer& answer) {
    const auto last = std::find_if(answer.stages.rbegin(), answer.stages.rend(),
                                   [](const StageReport& stage) { return !stage.kept.empty(); });
    if (last != answer.stages.rend()) return stage_panel(*last, answer.tokens.visual);
    draw::StagePanel panel;
    panel.marks.assign(answer.tokens.visual, draw::Mark::Kept);
    return panel;
}

std::string map_note(const Answer& answer, const std::string& model_name) {
    return model_name + ", " + answer.label + ", " + fixed(answer.tokens.average, 1) + " of " +
           std::to_string(answer.tokens.visual) + " visual tokens per layer, class " +
           answer.chosen_class.name;
}

Result<draw::Canvas> token_map(const std::string& question, const Answer& answer,
                               const std::string& model_name) {
    std::vector<draw::StagePanel> panels;
    for (const StageReport& stage : answer.stages) {
        panels.push_back(stage_panel(stage, answer.tokens.visual));
    }
    return draw_views(answer, panels, {question, answer.text, map_note(answer, model_name)});
}

Status write_token_map(const std::string& map_path, const std::string& question, const Answer& answer,
                       const std::string& model_name) {
    if (!answer.clips.empty())
        return write_clip_map(map_path, question, answer, map_note(answer, model_name));
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas, token_map(question, answer, model_name));
    return write_picture(canvas.image(), map_path);
}

Status write_comparison_map(const std::string& map_path, const std::string& question,
                            std::span<const Answer> answers, const std::string& note) {
    if (answers.empty()) return {Code::InvalidArgument, "there is no answer to draw"};
    std::vector<draw::StagePanel> panels;
    for (const Answer& answer : answers) {
        draw::StagePanel panel = last_panel(answer);
        panel.title = answer.label;
        if (answer.tokens.final == 0) panel.title += " (none in the end)";
        panel.title += ": " + answer.text;
        panels.push_back(std::move(panel));
    }
    CLASP_ASSIGN_OR_RETURN(const draw::Canvas canvas,
                           draw_views(answers.front(), panels, {question, {}, note}));
    return write_picture(canvas.image(), map_path);
}

}  // namespace clasp::cli
