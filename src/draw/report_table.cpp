#include "draw/report_table.h"

#include <algorithm>
#include <cstdio>

namespace clasp::draw {

namespace {

std::string with_digits(double value, int digits) {
    std::string text(48, '\0');
    const int n = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    text.resize(static_cast<std::size_t>(std::max(0, n)));
    return text;
}

const eval::Row* find_row(const eval::Summary& summary, const std::string& budget, const std::string& label) {
    for (const eval::Row& row : summary.rows) {
        if (row.budget == budget && row.label == label) return &row;
    }
    return nullptr;
}

ReportBand& band_of(std::vector<ReportBand>& bands, const std::string& budget) {
    for (ReportBand& band : bands) {
        if (band.budget == budget) return band;
    }
    bands.push_back({budget, budget == "none" ? std::string() : "Retain " + budget + " tokens", {}});
    return bands.back();
}

std::optional<double> average_of(const ReportRow& row) {
    double sum = 0.0;
    for (const ReportCell& cell : row.cells) {
        if (cell.row == nullptr || !cell.row->relative) return std::nullopt;
        sum += *cell.row->relative;
    }
    return 100.0 * sum / static_cast<double>(row.cells.size());
}

void mark_best(ReportBand& band, std::size_t n_columns) {
    if (band.rows.size() < 2) return;
    for (std::size_t column = 0; column < n_columns; ++column) {
        double best = -1.0;
        for (const ReportRow& row : band.rows) {
            if (row.cells[column].row != nullptr) best = std::max(best, row.cells[column].row->score);
        }
        for (ReportRow& row : band.rows) {
            ReportCell& cell = row.cells[column];
            cell.is_best = cell.row != nullptr && cell.row->score >= best;
        }
    }
    double best = -1.0;
    for (const ReportRow& row : band.rows) best = std::max(best, row.average.value_or(-1.0));
    for (ReportRow& row : band.rows) row.is_best_average = row.average && *row.average >= best;
}

}  // namespace

std::vector<ReportBand> report_bands(const std::vector<eval::Summary>& summaries) {
    std::vector<ReportBand> bands;
    for (const eval::Summary& summary : summaries) {
        for (const eval::Row& row : summary.rows) {
            ReportBand& band = band_of(bands, row.budget);
            const bool is_known = std::any_of(band.rows.begin(), band.rows.end(),
                                              [&](const ReportRow& r) { return r.label == row.label; });
            if (is_known) continue;
            ReportRow entry;
            entry.label = row.label;
            for (const eval::Summary& other : summaries) {
                entry.cells.push_back({find_row(other, row.budget, row.label), false});
            }
            entry.average = average_of(entry);
            band.rows.push_back(std::move(entry));
        }
    }
    for (ReportBand& band : bands) mark_best(band, summaries.size());
    return bands;
}

std::string score_text(const eval::Summary& summary, double score) {
    return with_digits(score, summary.scale >= 1000.0 ? 0 : (summary.scale <= 1.0 ? 3 : 1));
}

std::string percent_text(double share) {
    return with_digits(100.0 * share, 1);
}

std::string percent_text(const std::optional<double>& share) {
    return share ? percent_text(*share) : "-";
}

}  // namespace clasp::draw
