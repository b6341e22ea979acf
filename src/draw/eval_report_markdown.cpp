#include <algorithm>

#include "base/text.h"
#include "draw/eval_report.h"
#include "draw/report_table.h"

namespace clasp::draw {

namespace {

// A bar would end a cell and a line break the row.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return " " + out + " |";
}

std::string main_table(const EvalReport& report) {
    std::string text = "|" + cell("Methods") + cell("Budget");
    std::string rule = "|---|---|";
    for (const eval::Summary& summary : report.summaries) {
        text += cell(summary.title);
        rule += "---:|";
    }
    text += cell("Average") + "\n" + rule + "---:|\n";
    for (const ReportBand& band : report_bands(report.summaries)) {
        for (const ReportRow& row : band.rows) {
            text += "|" + cell(band.budget == "none" ? "Upper bound" : row.label) + cell(band.budget);
            for (std::size_t i = 0; i < row.cells.size(); ++i) {
                const ReportCell& entry = row.cells[i];
                const std::string score =
                    entry.row != nullptr ? score_text(report.summaries[i], entry.row->score) : "-";
                text += cell(entry.is_best ? "**" + score + "**" : score);
            }
            const std::string average = row.average ? percent_text(*row.average / 100.0) + " %" : "-";
            text += cell(row.is_best_average ? "**" + average + "**" : average) + "\n";
        }
    }
    return text;
}

std::string class_table(const eval::Summary& summary) {
    std::string text = "\n|" + cell("By class, %") + cell("Budget");
    std::string rule = "|---|---|";
    for (const eval::ClassScore& entry : summary.rows.front().per_class) {
        text += cell(entry.name + " (" + std::to_string(entry.n) + ")");
        rule += "---:|";
    }
    text += "\n" + rule + "\n";
    for (const eval::Row& row : summary.rows) {
        text += "|" + cell(row.label) + cell(row.budget);
        for (const eval::ClassScore& entry : row.per_class) text += cell(percent_text(entry.score / 100.0));
        text += "\n";
    }
    return text;
}

std::string comparison_table(const eval::Summary& summary) {
    std::string text =
        "\nPaired differences in points, on the same questions:\n\n"
        "| A | B | Budget | A - B | 95 % interval | Separable |\n"
        "|---|---|---|---:|---:|---|\n";
    for (const eval::Comparison& entry : summary.comparisons) {
        const eval::PairedComparison& result = entry.result;
        text += "|" + cell(entry.a) + cell(entry.b == "none" ? "unpruned" : entry.b) + cell(entry.budget) +
                cell(percent_text(result.difference)) +
                cell(percent_text(result.interval.low) + " to " + percent_text(result.interval.high)) +
                cell(result.is_separable ? "yes" : "no") + "\n";
    }
    return text;
}

std::string details(const eval::Summary& summary) {
    std::string text = "\n## " + summary.title + ": " + summary.headline + "\n\n" +
                       std::to_string(summary.n_questions) + " questions on " +
                       std::to_string(summary.n_pictures) + " pictures, " +
                       std::to_string(summary.missing_images.size()) + " pictures missing.\n\n" +
                       "| Method | Budget | Score | 95 % interval | Kept share, % | Loyalty, % |\n"
                       "|---|---|---:|---:|---:|---:|\n";
    for (const eval::Row& row : summary.rows) {
        text += "|" + cell(row.label) + cell(row.budget) + cell(score_text(summary, row.score)) +
                cell(score_text(summary, row.ci95.low) + " to " + score_text(summary, row.ci95.high)) +
                cell(percent_text(row.relative)) + cell(percent_text(row.loyalty)) + "\n";
    }
    for (const std::string& note : summary.notes) text += "\nNote: " + note + "\n";
    if (!summary.rows.empty() && summary.rows.front().per_class.size() > 1) text += class_table(summary);
    if (!summary.comparisons.empty()) text += comparison_table(summary);
    return text;
}

}  // namespace

std::string eval_report_markdown(const EvalReport& report) {
    std::string text = "# " + report.title + "\n\n" + main_table(report);
    for (const eval::Summary& summary : report.summaries) text += details(summary);
    if (!report.command.empty()) text += "\n    " + report.command + "\n";
    return text;
}

}  // namespace clasp::draw
