#include "draw/token_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "draw/grid_panel.h"

namespace clasp::draw {

namespace {

constexpr int kMargin = 28;
constexpr int kGap = 20;
constexpr std::size_t kMaxStages = 32;
constexpr std::size_t kPanelsPerRow = 4;
constexpr double kTextSize = 14;
constexpr double kCaptionSize = 12;
constexpr std::size_t kMaxTextLines = 12;
constexpr Colour kDim = {24, 26, 32};

struct Style {
    Mark mark;
    Colour colour;
    const char* plural;   // in counts
    const char* meaning;  // in the legend
};

constexpr std::array<Style, 4> kStyles = {{
    {Mark::Pivot, {30, 110, 255}, "pivots", "pivot: kept for relevance"},
    {Mark::Coverage, {240, 50, 50}, "coverage", "coverage: kept for completeness"},
    {Mark::Merged, {250, 170, 20}, "merged", "merged: stands for others too"},
    {Mark::Kept, {30, 190, 110}, "kept", "kept"},
}};

std::size_t count(const StagePanel& stage, Mark mark) {
    return static_cast<std::size_t>(std::count(stage.marks.begin(), stage.marks.end(), mark));
}

bool occurs(const TokenMap& map, Mark mark) {
    return std::any_of(map.stages.begin(), map.stages.end(),
                       [&](const StagePanel& stage) { return count(stage, mark) > 0; });
}

std::string kept_line(const StagePanel& stage) {
    const std::size_t kept = stage.marks.size() - count(stage, Mark::Dropped);
    return std::to_string(kept) + " of " + std::to_string(stage.marks.size()) + " tokens kept";
}

std::string reason_line(const StagePanel& stage) {
    std::string text;
    for (const Style& style : kStyles) {
        const std::size_t n = count(stage, style.mark);
        if (n == 0 || style.mark == Mark::Kept) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(n) + " " + style.plural;
    }
    return text;
}

// Dropped cells almost lose their colour, so that the kept ones stand out.
void dim(Canvas& canvas, int x, int y, int side) {
    for (int row = y; row < y + side; ++row) {
        for (int column = x; column < x + side; ++column) {
            const Colour colour = canvas.at(column, row);
            const auto grey =
                static_cast<std::uint8_t>((colour[0] * 77 + colour[1] * 150 + colour[2] * 29) >> 8);
            canvas.fill(column, row, 1, 1, {grey, grey, grey}, 0.8);
        }
    }
    canvas.fill(x, y, side, side, kDim, 0.68);
}

void draw_marks(Canvas& canvas, const StagePanel& stage, const GridPanel& panel, int x, int y) {
    const int thickness = panel.cell >= 24 ? 2 : 1;
    for (int row = 0; row < panel.rows; ++row) {
        for (int column = 0; column < panel.columns; ++column) {
            const Mark mark = stage.marks[panel.index(row, column)];
            const int left = x + column * panel.cell;
            const int top = y + row * panel.cell;
            if (mark == Mark::Dropped) {
                dim(canvas, left, top, panel.cell);
                continue;
            }
            for (const Style& style : kStyles) {
                if (style.mark != mark) continue;
                canvas.fill(left, top, panel.cell, panel.cell, style.colour, 0.22);
                canvas.outline(left, top, panel.cell, panel.cell, thickness, style.colour, 0.9);
            }
        }
    }
}

double draw_legend(Canvas& canvas, const TokenMap& map, double x, double y) {
    const int side = static_cast<int>(kCaptionSize) + 2;
    const auto entry = [&](const Colour& colour, const char* text, double alpha) {
        const int left = static_cast<int>(x);
        const int top = static_cast<int>(y) - 1;
        canvas.fill(left, top, side, side, colour, alpha);
        canvas.outline(left, top, side, side, 2, colour, 1.0);
        x += side + 8;
        x += canvas.text(x, y, text, kCaptionSize, kInk) + 24;
    };
    for (const Style& style : kStyles) {
        if (occurs(map, style.mark)) entry(style.colour, style.meaning, 0.35);
    }
    if (occurs(map, Mark::Dropped)) entry(kDim, "dropped", 0.75);
    return y + line_height(kCaptionSize);
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
        draw_marks(canvas, stage, panel, left, top);
        std::vector<std::string> lines = wrap_text(stage.title, kCaptionSize, panel.width(), 1);
        draw_lines(canvas, left, below, lines, kCaptionSize, kInk);
        draw_lines(canvas, left, below + line_height(kCaptionSize), {kept_line(stage), reason_line(stage)},
                   kCaptionSize, kFaintInk);
    }
    y += n_rows * (panel.height() + caption + kGap);
    y = draw_legend(canvas, map, kMargin, y) + kGap / 2.0;
    y = draw_lines(canvas, kMargin, y, answer, kTextSize, kInk);
    draw_lines(canvas, kMargin, y, note, kCaptionSize, kFaintInk);
    return canvas;
}

}  // namespace clasp::draw
