#include "draw/calibration_report.h"

#include <algorithm>

#include "base/text.h"
#include "draw/html.h"
#include "draw/report_table.h"

namespace clasp::draw {

namespace {

using calibrate::Candidate;
using calibrate::ClassReport;
using calibrate::Rejection;
using calibrate::SearchPhase;

const char* rejection_text(Rejection rejection) {
    switch (rejection) {
        case Rejection::Significant: return "significantly worse";
        case Rejection::Halved: return "far behind";
        case Rejection::None: break;
    }
    return "stayed";
}

std::string mix_text(const Candidate& candidate) {
    std::string text;
    for (const LayerWeight& entry : candidate.weights) {
        text += (text.empty() ? "" : " + ") + base::format_number(entry.weight, 3) + " L" +
                std::to_string(entry.layer);
    }
    return text;
}

// Rows by score; the colour is the distance to the winner's.
std::string phase_table(const SearchPhase& phase) {
    std::vector<std::size_t> order(phase.candidates.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return phase.race.entries[a].mean > phase.race.entries[b].mean;
    });
    constexpr double kFullColour = 0.2;
    const double best = phase.race.entries[phase.race.winner].mean;
    std::string html =
        "<h3>" + escape_html(phase.name) + ": " + std::to_string(phase.candidates.size()) + " candidates, " +
        std::to_string(phase.race.asked) + " answers in " + std::to_string(phase.race.rounds) +
        " rounds</h3>\n<div class=\"scroll\"><table>\n<thead><tr><th>Mix</th><th>Layers</th>"
        "<th>Split</th><th>Score, %</th><th>Questions</th><th>Outcome</th></tr></thead>\n<tbody>\n";
    for (const std::size_t i : order) {
        const Candidate& candidate = phase.candidates[i];
        const calibrate::RaceEntry& entry = phase.race.entries[i];
        const bool is_winner = i == phase.race.winner;
        html += is_winner ? "<tr class=\"ours\">" : "<tr>";
        html += "<td>" + escape_html(candidate.mix_name) + "</td><td>" + escape_html(mix_text(candidate)) +
                "</td><td>" + base::format_number(candidate.split, 3) +
                "</td><td style=\"background:" + diverging_colour((entry.mean - best) / kFullColour) + "\">" +
                percent_text(entry.mean) + "</td><td>" + std::to_string(entry.scores.size()) + "</td><td>" +
                (is_winner ? "won" : rejection_text(entry.rejection)) + "</td></tr>\n";
    }
    return html + "</tbody></table></div>\n";
}

}  // namespace

std::string calibration_html(const calibrate::CalibrateReport& report, const std::string& title) {
    std::string body = "<h1>Calibration</h1>\n<p class=\"lead\">" + escape_html(title) + "</p>\n";
    body +=
        "<h2>Classes</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Class</th><th>Search before, %</th>"
        "<th>Search best, %</th><th>Held out before, %</th><th>Held out best, "
        "%</th><th>Taken</th></tr></thead>\n"
        "<tbody>\n";
    for (const ClassReport& entry : report.classes) {
        body += "<tr><td>" + escape_html(entry.name) + "</td><td>" + percent_text(entry.search_before) +
                "</td><td>" + percent_text(entry.search_winner) + "</td><td>" +
                percent_text(entry.held_out_before) + "</td><td>" + percent_text(entry.held_out_winner) +
                "</td><td>" +
                (entry.is_changed ? escape_html(mix_text(entry.chosen)) + ", split " +
                                        base::format_number(entry.chosen.split, 3)
                                  : std::string("as it was")) +
                "</td></tr>\n";
    }
    body += "</tbody></table></div>\n";
    for (const ClassReport& entry : report.classes) {
        body += "<h2>" + escape_html(entry.name) + "</h2>\n<p class=\"small\">" +
                std::to_string(entry.n_search) + " questions searched, " + std::to_string(entry.n_held_out) +
                " held out.</p>\n";
        for (const SearchPhase& phase : entry.phases) body += phase_table(phase);
    }
    return html_page("Calibration: " + title, body);
}

}  // namespace clasp::draw
