#include "draw/token_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "draw/grid_panel.h"
#include "draw/marks.h"

namespace clasp::draw {

namespace {

constexpr int kMargin = 28;
constexpr int kGap = 20;
constexpr std::size_t kMaxStages = 32;
constexpr std::size_t kPanelsPerRow = 4;
constexpr double kTextSize = 14;
constexpr double kCaptionSize = 12;
constexpr std::size_t kMaxTextLines = 12;
std::size_t count(const StagePanel& stage, Mark mark) {
    return static_cast<std::size_t>(std::count(stage.marks.begin(), stage.marks.end(), mark));
}

std::string kept_line(const StagePanel& stage) {
    const std::size_t kept = stage.marks.size() - count(stage, Mark::Dropped);
    return std::to_string(kept) + " of " + std::to_string(stage.marks.size()) + " tokens kept";
}

Status check(const TokenMap& map) {
    if (map.stages.size() > kMaxStages) {
        return {Code::InvalidArgument, "a map of " + std::to_string(map.stages.size()) +
                                           " stages exceeds the limit of " + std::to_string(kMaxStages)};
    }
    const auto n_tokens = static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.columns);
    for (const StagePanel& stage : map.stages) {
        if (stage.marks.size() != n_tokens) {
            return {Code::InvalidArgument, "stage \"" + stage.title + "\" marks " +
                                               std::to_string(stage.marks.size()) +
                                               " tokens, but the grid has " + std::to_string(n_tokens)};
        }
    }
    return ok_status();
}

std::vector<std::string> wrapped(const std::string& label, const std::string& text, double width) {
    if (text.empty()) return {};
    return wrap_text(label + text, kTextSize, width, kMaxTextLines);
}

}  // namespace

Result<Canvas> draw_token_map(const TokenMap& map) {
    CLASP_ASSIGN_OR_RETURN(const GridPanel panel, make_grid_panel(map.rows, map.columns));
    CLASP_RETURN_IF_ERROR(check(map));
    CLASP_ASSIGN_OR_RETURN(const Image picture, panel_picture(map.picture, map.frame, panel));
    const std::size_t n_panels = map.stages.size() + 1;
    const int per_row = static_cast<int>(std::min(n_panels, kPanelsPerRow));
    const int n_rows = static_cast<int>((n_panels + kPanelsPerRow - 1) / kPanelsPerRow);
    const int content = std::max(per_row * panel.width() + (per_row - 1) * kGap, 640);
    const auto question = wrapped("Question: ", map.question, content);
    const auto answer = wrapped("Answer: ", map.answer, content);
    const auto note =
        map.note.empty() ? std::vector<std::string>{} : wrap_text(map.note, kCaptionSize, content, 3);
    const int caption = static_cast<int>(std::ceil(3 * line_height(kCaptionSize))) + 10;
    const auto text_height = [](const std::vector<std::string>& lines, double size) {
        return static_cast<int>(std::ceil(static_cast<double>(lines.size()) * line_height(size)));
    };
    const int height = 2 * kMargin + text_height(question, kTextSize) + kGap / 2 +
                       n_rows * (panel.height() + caption + kGap) + text_height({""}, kCaptionSize) +
                       kGap / 2 + text_height(answer, kTextSize) + text_height(note, kCaptionSize) + kGap / 2;
    CLASP_ASSIGN_OR_RETURN(Canvas canvas, Canvas::make(content + 2 * kMargin, height));
    double y = draw_lines(canvas, kMargin, kMargin, question, kTextSize, kInk) + kGap / 2.0;
    for (std::size_t i = 0; i < n_panels; ++i) {
        const int left = kMargin + static_cast<int>(i % kPanelsPerRow) * (panel.width() + kGap);
        const int top =
            static_cast<int>(y) + static_cast<int>(i / kPanelsPerRow) * (panel.height() + caption + kGap);
        canvas.paste(picture, left, top);
        const double below = top + panel.height() + 10;
        if (i == 0) {
            canvas.text(left, below, "picture", kCaptionSize, kInk);
            canvas.text(left, below + line_height(kCaptionSize),
                        std::to_string(map.rows) + " x " + std::to_string(map.columns) + " tokens",
                        kCaptionSize, kFaintInk);
            continue;
        }
        const StagePanel& stage = map.stages[i - 1];
        draw_marks(canvas, stage.marks, panel, left, top);
        std::vector<std::string> lines = wrap_text(stage.title, kCaptionSize, panel.width(), 1);
        draw_lines(canvas, left, below, lines, kCaptionSize, kInk);
        draw_lines(canvas, left, below + line_height(kCaptionSize),
                   {kept_line(stage), count_marks(stage.marks)}, kCaptionSize, kFaintInk);
    }
    y += n_rows * (panel.height() + caption + kGap);
    std::vector<const std::vector<Mark>*> all;
    for (const StagePanel& stage : map.stages) all.push_back(&stage.marks);
    y = draw_legend(canvas, all, kMargin, y) + kGap / 2.0;
    y = draw_lines(canvas, kMargin, y, answer, kTextSize, kInk);
    draw_lines(canvas, kMargin, y, note, kCaptionSize, kFaintInk);
    return canvas;
}

}  // namespace clasp::draw
