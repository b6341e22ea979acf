#include "draw/clip_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "draw/grid_panel.h"

namespace clasp::draw {

namespace {

constexpr int kSheetMargin = 28;
constexpr int kSheetGap = 16;
constexpr int kSheetSide = 220;
constexpr int kSheetColumns = 5;
constexpr int kStepSide = 480;
constexpr double kSheetText = 14;
constexpr double kSheetCaption = 11;
constexpr int kCurveHeight = 110;
constexpr std::array<Colour, 4> kCurveColours = {
    {{150, 155, 165}, {90, 150, 220}, {30, 110, 255}, {240, 50, 50}}};

Status check_steps(const ClipMap& map) {
    if (map.steps.empty()) return {Code::InvalidArgument, "a clip without steps cannot be drawn"};
    const auto n_tokens = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
    for (const ClipStep& step : map.steps) {
        if (step.marks.size() != n_tokens) {
            return {Code::InvalidArgument, "step \"" + step.title + "\" marks " +
                                               std::to_string(step.marks.size()) +
                                               " tokens, but the grid has " + std::to_string(n_tokens)};
        }
    }
    for (const ClipMap::Curve& curve : map.curves) {
        if (curve.kept.size() != map.steps.size()) {
            return {Code::InvalidArgument, "curve \"" + curve.name + "\" has " +
                                               std::to_string(curve.kept.size()) + " points for " +
                                               std::to_string(map.steps.size()) + " steps"};
        }
    }
    return ok_status();
}

std::size_t n_kept(const ClipStep& step) {
    return step.marks.size() -
           static_cast<std::size_t>(std::count(step.marks.begin(), step.marks.end(), Mark::Dropped));
}

Status draw_step(Canvas& canvas, const ClipStep& step, const GridPanel& panel, int x, int y) {
    CLASP_ASSIGN_OR_RETURN(const Image picture, panel_picture(step.picture, step.frame, panel));
    canvas.paste(picture, x, y);
    draw_marks(canvas, step.marks, panel, x, y);
    const double below = y + panel.height() + 8;
    canvas.text(x, below, step.title, kSheetCaption, kInk);
    canvas.text(x, below + line_height(kSheetCaption),
                std::to_string(n_kept(step)) + " of " + std::to_string(step.marks.size()) + " kept",
                kSheetCaption, kFaintInk);
    return ok_status();
}

int step_height(const GridPanel& panel) {
    return panel.height() + static_cast<int>(std::ceil(2 * line_height(kSheetCaption))) + 10;
}

// Which steps stand on the sheet.
std::vector<std::size_t> sheet_steps(std::size_t n) {
    const std::size_t n_shown = std::min(n, kMaxSheetSteps);
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < n_shown; ++i) shown.push_back(n_shown > 1 ? i * (n - 1) / (n_shown - 1) : 0);
    return shown;
}

// Tokens kept, from step to step; the names of the stages beside their curves.
void draw_curves(Canvas& canvas, const ClipMap& map, int x, int y, int width) {
    std::size_t most = 1;
    for (const ClipMap::Curve& curve : map.curves) {
        most = std::max(most, *std::max_element(curve.kept.begin(), curve.kept.end()));
    }
    const double bottom = y + kCurveHeight;
    canvas.line({static_cast<double>(x), bottom}, {static_cast<double>(x + width), bottom}, 1.0, kFaintInk);
    canvas.text(x, y - line_height(kSheetCaption),
                "tokens kept per step, up to " + std::to_string(most) + " of " +
                    std::to_string(map.steps.front().marks.size()),
                kSheetCaption, kInk);
    double legend = x + 320;
    for (std::size_t i = 0; i < map.curves.size(); ++i) {
        const Colour& colour = kCurveColours[std::min(i, kCurveColours.size() - 1)];
        const std::vector<std::size_t>& kept = map.curves[i].kept;
        const auto at = [&](std::size_t step) -> Point {
            const double share =
                kept.size() > 1 ? static_cast<double>(step) / static_cast<double>(kept.size() - 1) : 0.5;
            return {x + share * width,
                    bottom - static_cast<double>(kept[step]) / static_cast<double>(most) * kCurveHeight};
        };
        for (std::size_t step = 0; step + 1 < kept.size(); ++step)
            canvas.line(at(step), at(step + 1), 2.0, colour);
        for (std::size_t step = 0; step < kept.size() && kept.size() <= kMaxSheetSteps; ++step) {
            const Point point = at(step);
            canvas.fill(static_cast<int>(point.x) - 2, static_cast<int>(point.y) - 2, 5, 5, colour);
        }
        legend +=
            canvas.text(legend, y - line_height(kSheetCaption), map.curves[i].name, kSheetCaption, colour) +
            18;
    }
}

}  // namespace

Result<Canvas> draw_clip_map(const ClipMap& map) {
    CLASP_ASSIGN_OR_RETURN(const GridPanel panel, make_grid_panel(map.rows, map.columns, kSheetSide));
    CLASP_RETURN_IF_ERROR(check_steps(map));
    const std::vector<std::size_t> shown = sheet_steps(map.steps.size());
    const int per_row = std::min(static_cast<int>(shown.size()), kSheetColumns);
    const int n_rows = (static_cast<int>(shown.size()) + kSheetColumns - 1) / kSheetColumns;
    const int content = std::max(per_row * panel.width() + (per_row - 1) * kSheetGap, 720);
    const auto question = wrap_text("Question: " + map.question, kSheetText, content, 6);
    const auto answer = wrap_text("Answer: " + map.answer, kSheetText, content, 6);
    std::string remark = map.note;
    if (shown.size() < map.steps.size()) {
        remark += "; " + std::to_string(shown.size()) + " of " + std::to_string(map.steps.size()) +
                  " steps are shown";
    }
    const auto note = wrap_text(remark, kSheetCaption, content, 3);
    const auto text_height = [](std::size_t n, double size) {
        return static_cast<int>(std::ceil(static_cast<double>(n) * line_height(size)));
    };
    const bool has_curves = !map.curves.empty();
    const int height = 2 * kSheetMargin + text_height(question.size(), kSheetText) + kSheetGap +
                       n_rows * (step_height(panel) + kSheetGap) +
                       (has_curves ? kCurveHeight + text_height(1, kSheetCaption) + 2 * kSheetGap : 0) +
                       text_height(2, kSheetText) + text_height(answer.size(), kSheetText) +
                       text_height(note.size(), kSheetCaption);
    CLASP_ASSIGN_OR_RETURN(Canvas canvas, Canvas::make(content + 2 * kSheetMargin, height));
    double y = draw_lines(canvas, kSheetMargin, kSheetMargin, question, kSheetText, kInk) + kSheetGap / 2.0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const int left = kSheetMargin + static_cast<int>(i) % kSheetColumns * (panel.width() + kSheetGap);
        const int top =
            static_cast<int>(y) + static_cast<int>(i) / kSheetColumns * (step_height(panel) + kSheetGap);
        CLASP_RETURN_IF_ERROR(draw_step(canvas, map.steps[shown[i]], panel, left, top));
    }
    y += n_rows * (step_height(panel) + kSheetGap);
    if (has_curves) {
        y += line_height(kSheetCaption);
        draw_curves(canvas, map, kSheetMargin, static_cast<int>(y), content);
        y += kCurveHeight + 1.5 * kSheetGap;
    }
    std::vector<const std::vector<Mark>*> all;
    for (const ClipStep& step : map.steps) all.push_back(&step.marks);
    y = draw_legend(canvas, all, kSheetMargin, y) + kSheetGap / 2.0;
    y = draw_lines(canvas, kSheetMargin, y, answer, kSheetText, kInk);
    draw_lines(canvas, kSheetMargin, y, note, kSheetCaption, kFaintInk);
    return canvas;
}

Result<std::vector<Image>> draw_clip_steps(const ClipMap& map) {
    CLASP_ASSIGN_OR_RETURN(const GridPanel panel, make_grid_panel(map.rows, map.columns, kStepSide));
    CLASP_RETURN_IF_ERROR(check_steps(map));
    std::vector<Image> pictures;
    for (const ClipStep& step : map.steps) {
        CLASP_ASSIGN_OR_RETURN(Canvas canvas, Canvas::make(panel.width(), step_height(panel)));
        CLASP_RETURN_IF_ERROR(draw_step(canvas, step, panel, 0, 0));
        pictures.push_back(canvas.image());
    }
    return pictures;
}

}  // namespace clasp::draw
