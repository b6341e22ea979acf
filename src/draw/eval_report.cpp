#include "draw/eval_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "draw/html.h"
#include "draw/line_chart.h"
#include "draw/report_table.h"

namespace clasp::draw {

namespace {

using eval::ClassScore;
using eval::Row;
using eval::Summary;

std::string cell(const std::string& content, const char* classes = "") {
    const std::string attribute = *classes != '\0' ? " class=\"" + std::string(classes) + "\"" : "";
    return "<td" + attribute + ">" + content + "</td>";
}

std::string heading(const std::string& content) {
    return "<th>" + content + "</th>";
}

// "+- 1.2" from an interval, half its width.
std::string half_width(const Summary& summary, const eval::Interval& interval) {
    return " <small>&#177; " + score_text(summary, (interval.high - interval.low) / 2.0) + "</small>";
}

bool is_ours(const std::string& label) {
    return label.starts_with("clasp");
}

std::string main_table(const EvalReport& report) {
    const std::vector<ReportBand> bands = report_bands(report.summaries);
    std::string html = "<div class=\"scroll\"><table id=\"main-table\">\n<thead><tr>" + heading("Methods");
    for (const Summary& summary : report.summaries) html += heading(escape_html(summary.title));
    html += heading("Average") + "</tr></thead>\n<tbody>\n";
    const std::string columns = std::to_string(report.summaries.size() + 2);
    for (const ReportBand& band : bands) {
        const bool is_upper = band.budget == "none";
        if (!is_upper) {
            html += "<tr class=\"band\"><td colspan=\"" + columns + "\">" + escape_html(band.title) +
                    "</td></tr>\n";
        }
        for (const ReportRow& row : band.rows) {
            html += is_upper ? "<tr class=\"upper\">" : (is_ours(row.label) ? "<tr class=\"ours\">" : "<tr>");
            html += cell(is_upper ? "Upper bound, all tokens" : escape_html(row.label));
            for (std::size_t i = 0; i < row.cells.size(); ++i) {
                const ReportCell& entry = row.cells[i];
                html += entry.row == nullptr ? cell("-")
                                             : cell(score_text(report.summaries[i], entry.row->score) +
                                                        half_width(report.summaries[i], entry.row->ci95),
                                                    entry.is_best ? "best" : "");
            }
            html += cell(row.average ? percent_text(*row.average / 100.0) + " %" : "-",
                         row.is_best_average ? "best" : "") +
                    "</tr>\n";
        }
    }
    html += "</tbody></table></div>\n";
    html +=
        "<p class=\"small\">Average: mean over benchmarks of the score as a share of the unpruned "
        "model's. &#177; is half of a 95 % interval that resamples pictures with all their "
        "questions. Best of each budget in blue; see the paired comparisons for what is "
        "separable.</p>\n";
    return html;
}

// ---- Curves ----

// More lines than colours: ours and the best of the others, by their mean, get one; the rest are background.
void choose_colours(std::vector<ChartLine>& lines) {
    if (lines.size() > kSeriesColours) {
        const auto rank = [](const ChartLine& line) {
            double sum = 0.0;
            for (const ChartPoint& point : line.points) sum += point.y;
            return std::pair(!is_ours(line.name), -sum / static_cast<double>(line.points.size()));
        };
        std::stable_sort(lines.begin(), lines.end(),
                         [&](const ChartLine& a, const ChartLine& b) { return rank(a) < rank(b); });
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        lines[i].colour = series_colour(i);
        lines[i].is_background = i >= kSeriesColours;
    }
}

std::string budget_curves(const Summary& summary) {
    LineChart chart;
    chart.title = summary.title;
    chart.x_title = "visual tokens per decoder layer";
    chart.y_title = summary.headline;
    std::vector<std::string> labels;
    for (const Row& row : summary.rows) {
        if (row.budget == "none") {
            chart.has_level = true;
            chart.level = row.score;
            chart.level_name = "unpruned";
            continue;
        }
        if (!(row.average_tokens > 0.0)) continue;
        const auto known = std::find(labels.begin(), labels.end(), row.label);
        const auto index = static_cast<std::size_t>(known - labels.begin());
        if (known == labels.end()) {
            labels.push_back(row.label);
            chart.lines.push_back({.name = row.label, .colour = {}, .points = {}});
        }
        chart.lines[index].points.push_back(
            {row.average_tokens, row.score, row.ci95.low, row.ci95.high,
             row.label + " at " + row.budget + ": " + score_text(summary, row.score)});
        const bool has_tick = std::any_of(chart.ticks.begin(), chart.ticks.end(),
                                          [&](const ChartTick& tick) { return tick.name == row.budget; });
        if (!has_tick) chart.ticks.push_back({row.average_tokens, row.budget});
    }
    if (chart.ticks.size() < 2) return {};
    for (ChartLine& line : chart.lines) {
        std::sort(line.points.begin(), line.points.end(),
                  [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    }
    choose_colours(chart.lines);
    return "<figure>" + line_chart_svg(chart) + "</figure>\n";
}

// ---- Heat maps ----

// Difference to the unpruned model, or to the column's mean without it.
std::string heat_map(const Summary& summary) {
    std::vector<const ClassScore*> columns;
    for (const ClassScore& entry : summary.rows.front().per_class) columns.push_back(&entry);
    if (columns.size() < 2) return {};
    const auto unpruned = std::find_if(summary.rows.begin(), summary.rows.end(),
                                       [](const Row& row) { return row.budget == "none"; });
    const bool many_budgets = std::any_of(summary.rows.begin(), summary.rows.end(), [&](const Row& row) {
        return row.budget != "none" && row.budget != summary.rows.back().budget;
    });
    constexpr double kFullColour = 20.0;  // points of difference
    std::string html = "<h3>" + escape_html(summary.title) +
                       "</h3>\n<div class=\"scroll\"><table class=\"heat\">\n<thead><tr>" + heading("");
    for (const ClassScore* column : columns) {
        html +=
            heading(escape_html(column->name) + "<br /><small>n = " + std::to_string(column->n) + "</small>");
    }
    html += "</tr></thead>\n<tbody>\n";
    for (const Row& row : summary.rows) {
        const bool is_upper = row.budget == "none";
        std::string name = is_upper ? "unpruned" : row.label;
        if (many_budgets && !is_upper) name += " @ " + row.budget;
        html += "<tr>" + heading(escape_html(name));
        for (std::size_t i = 0; i < row.per_class.size(); ++i) {
            double centre = 0.0;
            if (unpruned != summary.rows.end()) {
                centre = unpruned->per_class[i].score;
            } else {
                for (const Row& other : summary.rows) centre += other.per_class[i].score;
                centre /= static_cast<double>(summary.rows.size());
            }
            const double difference = row.per_class[i].score - centre;
            html += "<td style=\"background:" + diverging_colour(is_upper ? 0.0 : difference / kFullColour) +
                    "\" title=\"" + (difference >= 0.0 ? "+" : "") + base::format_number(difference, 1) +
                    "\">" + percent_text(row.per_class[i].score / 100.0) + "</td>";
        }
        html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

// ---- Details ----

std::string details(const Summary& summary) {
    std::string html = "<h3>" + escape_html(summary.title) + ": " + escape_html(summary.headline) + ", " +
                       std::to_string(summary.n_questions) + " questions on " +
                       std::to_string(summary.n_pictures) + " pictures</h3>\n";
    html += "<div class=\"scroll\"><table>\n<thead><tr>" + heading("Method") + heading("Budget") +
            heading("Score") + heading("95 % interval") + heading("Kept share, %") + heading("Loyalty, %") +
            heading("Tokens per layer") + heading("Prefill, ms per question") +
            heading("Decode, ms per question") + heading("Own encoder, ms per question") +
            heading("Answered") + "</tr></thead>\n<tbody>\n";
    for (const Row& row : summary.rows) {
        const double n = std::max<double>(1.0, static_cast<double>(row.n_answered));
        std::string share = percent_text(row.relative);
        if (row.relative_ci95 && row.budget != "none") {
            share += " <small>" + percent_text(row.relative_ci95->low) + " to " +
                     percent_text(row.relative_ci95->high) + "</small>";
        }
        html += is_ours(row.label) ? "<tr class=\"ours\">" : "<tr>";
        html += cell(row.budget == "none" ? "unpruned" : escape_html(row.label)) +
                cell(escape_html(row.budget)) + cell(score_text(summary, row.score)) +
                cell(score_text(summary, row.ci95.low) + " to " + score_text(summary, row.ci95.high)) +
                cell(share) + cell(percent_text(row.loyalty)) +
                cell(base::format_number(row.average_tokens, 1)) +
                cell(base::format_number(1000.0 * row.prefill_seconds / n, 0)) +
                cell(base::format_number(1000.0 * row.decode_seconds / n, 0)) +
                cell(row.encode_seconds ? base::format_number(1000.0 * *row.encode_seconds / n, 0) : "-") +
                cell(std::to_string(row.n_answered)) + "</tr>\n";
    }
    html += "</tbody></table></div>\n<p>Pictures took " + base::format_number(summary.encode_seconds, 1) +
            " s to decode and encode, once for all rows without an encoder of their own.</p>\n";
    for (const std::string& note : summary.notes) html += "<p>" + escape_html(note) + "</p>\n";
    return html;
}

// No test gives a probability of nothing.
std::string p_value_text(double p_value) {
    constexpr double kSmallest = 0.0001;
    return p_value < kSmallest ? "&lt; 0.0001" : base::format_number(p_value, 4);
}

std::string comparisons(const Summary& summary) {
    std::string html = "<h3>" + escape_html(summary.title) +
                       "</h3>\n<div class=\"scroll\"><table>\n<thead><tr>" + heading("Budget") +
                       heading("A") + heading("B") + heading("A - B, points") + heading("95 % interval") +
                       heading("only A right") + heading("only B right") + heading("McNemar p") +
                       heading("Separable") + "</tr></thead>\n<tbody>\n";
    for (const eval::Comparison& entry : summary.comparisons) {
        const eval::PairedComparison& result = entry.result;
        html += "<tr>" + cell(escape_html(entry.budget)) + cell(escape_html(entry.a)) +
                cell(entry.b == "none" ? "unpruned" : escape_html(entry.b)) +
                cell(percent_text(result.difference)) +
                cell(percent_text(result.interval.low) + " to " + percent_text(result.interval.high)) +
                cell(std::to_string(result.test.only_a)) + cell(std::to_string(result.test.only_b)) +
                cell(p_value_text(result.test.p_value)) + cell(result.is_separable ? "yes" : "no") +
                "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

std::string regression_case(const RegressionCase& entry) {
    std::string html =
        "<div class=\"case\"><div class=\"faint\">" + escape_html(entry.title) + "</div>\n<div><b>" +
        escape_html(entry.question) + "</b></div>\n<div>expected: " + escape_html(entry.expected) +
        " &#183; unpruned: <span class=\"kept\">" + escape_html(entry.unpruned) +
        "</span> &#183; pruned: <span class=\"lost\">" + escape_html(entry.pruned) + "</span></div>\n";
    if (!entry.map_png.empty()) html += png_element(entry.map_png, "kept tokens per stage");
    return html + "</div>\n";
}

std::string provenance(const EvalReport& report) {
    std::string html;
    std::map<std::string, std::string> policies;
    for (const Summary& summary : report.summaries) {
        html += "<p>" + escape_html(summary.title) + ": " + std::to_string(summary.missing_images.size()) +
                " pictures missing or unreadable, " + std::to_string(summary.without_picture.size()) +
                " questions without a picture (not asked, counted as wrong).</p>\n";
        for (const std::string& note : summary.notes) html += "<p>" + escape_html(note) + ".</p>\n";
        for (const Row& row : summary.rows) {
            if (!row.policy_hash.empty()) policies.emplace(row.policy_hash, row.policy_name);
        }
    }
    for (const auto& [hash, name] : policies) {
        html +=
            "<p>Policy " + escape_html(name) + " <code>" + escape_html(hash.substr(0, 16)) + "</code></p>\n";
    }
    if (!report.command.empty()) html += "<p><code>" + escape_html(report.command) + "</code></p>\n";
    return html;
}

}  // namespace

std::string eval_report_html(const EvalReport& report) {
    std::string body = "<h1>" + escape_html(report.title) + "</h1>\n";
    if (!report.summaries.empty()) {
        body += "<p class=\"lead\">Model " + escape_html(report.summaries.front().model) +
                "; budgets are visual tokens per decoder layer on average.</p>\n";
        body += "<h2>Results</h2>\n" + main_table(report);
    }
    std::string curves;
    std::string heat;
    std::string paired;
    std::string all_details;
    for (const Summary& summary : report.summaries) {
        if (summary.rows.empty()) continue;
        curves += budget_curves(summary);
        heat += heat_map(summary);
        if (!summary.comparisons.empty()) paired += comparisons(summary);
        all_details += details(summary);
    }
    if (!curves.empty()) body += "<h2>Score over budget</h2>\n<div class=\"charts\">" + curves + "</div>\n";
    if (!heat.empty()) {
        body +=
            "<h2>Score by question class</h2>\n" + heat +
            "<p class=\"small\">Per cent of each class. Blue is above, red below the unpruned model (full "
            "colour at 20 points).</p>\n";
    }
    body += "<h2>Details</h2>\n" + all_details;
    if (!paired.empty()) body += "<h2>Paired comparisons</h2>\n" + paired;
    if (!report.cases.empty()) {
        body +=
            "<h2>Worst regressions</h2>\n<p class=\"small\">Questions that the unpruned model answers "
            "better. Blue tokens are pivots, red ones coverage, dimmed ones dropped.</p>\n";
        for (const RegressionCase& entry : report.cases) body += regression_case(entry);
    }
    body += "<h2>Provenance</h2>\n" + provenance(report);
    return html_page(report.title, body);
}

}  // namespace clasp::draw
