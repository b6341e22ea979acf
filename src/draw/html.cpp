#include "draw/html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace clasp::draw {

namespace {

constexpr std::string_view kStyle = R"css(
:root { --ink: #1d232e; --faint: #667085; --line: #d9dee7; --wash: #f4f6fa; --mark: #e9f1ea; --best: #1b4f9c; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1120px; padding: 28px 24px 60px; color: var(--ink); background: #fff;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 26px; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin: 38px 0 10px; padding-bottom: 5px; border-bottom: 2px solid var(--ink); }
h3 { font-size: 15px; margin: 18px 0 6px; }
p { margin: 6px 0; max-width: 78ch; }
.lead, .faint { color: var(--faint); }
.small { font-size: 12.5px; color: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { padding: 4px 11px; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 1.5px solid var(--ink); font-weight: 600; }
tbody tr td { border-bottom: 1px solid var(--line); }
tr.band td { background: var(--wash); font-style: italic; text-align: center; border-bottom: 1px solid var(--line); }
tr.upper td { color: var(--faint); }
tr.ours td { background: var(--mark); }
td.best { color: var(--best); font-weight: 700; }
td small { color: var(--faint); font-size: 11.5px; font-weight: 400; }
.charts { display: flex; flex-wrap: wrap; gap: 18px; }
figure { margin: 0; }
figcaption { font-size: 13px; color: var(--faint); margin-top: 4px; }
table.heat td, table.heat th { padding: 5px 8px; text-align: center; font-size: 13px; }
table.heat thead th { white-space: normal; max-width: 104px; vertical-align: bottom; line-height: 1.25; }
table.heat th:first-child { text-align: left; font-weight: 500; }
table.heat td { border: 2px solid #fff; min-width: 62px; }
.case { border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px; margin: 12px 0; }
.case img { display: block; max-width: 100%; height: auto; margin-top: 8px; }
.lost { color: #b42318; font-weight: 600; }
.kept { color: #1a7f37; font-weight: 600; }
code { font-size: 12.5px; background: var(--wash); padding: 1px 5px; border-radius: 4px; overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; } .case, figure { break-inside: avoid; } }
)css";

}  // namespace

std::string escape_html(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: {
                const auto byte = static_cast<unsigned char>(c);
                const bool is_control = byte < 0x20 && c != '\n' && c != '\t' && c != '\r';
                out += is_control ? '?' : c;
            }
        }
    }
    return out;
}

std::string base64(std::span<const std::uint8_t> bytes) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = static_cast<std::uint32_t>(bytes[i]) << 16U;
        if (n > 1) group |= static_cast<std::uint32_t>(bytes[i + 1]) << 8U;
        if (n > 2) group |= bytes[i + 2];
        for (std::size_t k = 0; k < 4; ++k) {
            out += k <= n ? kDigits[(group >> (18U - 6U * k)) & 63U] : '=';
        }
    }
    return out;
}

std::string png_element(std::span<const std::uint8_t> png, std::string_view description) {
    return "<img alt=\"" + escape_html(description) + "\" src=\"data:image/png;base64," + base64(png) +
           "\" />\n";
}

std::string html_page(std::string_view title, std::string_view body) {
    std::string page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n";
    page += "<title>" + escape_html(title) + "</title>\n<style>";
    page += kStyle;
    page += "</style>\n</head>\n<body>\n";
    page += body;
    page += "</body>\n</html>\n";
    return page;
}

std::string diverging_colour(double value) {
    constexpr std::array<double, 3> kBelow = {214.0, 96.0, 77.0};
    constexpr std::array<double, 3> kAbove = {67.0, 147.0, 195.0};
    constexpr double kWhite = 250.0;
    const double strength = std::isfinite(value) ? std::min(1.0, std::abs(value)) : 0.0;
    const auto& end = value < 0.0 ? kBelow : kAbove;
    std::array<int, 3> colour = {};
    for (std::size_t i = 0; i < 3; ++i) {
        colour[i] = static_cast<int>(std::lround(kWhite + strength * (end[i] - kWhite)));
    }
    std::array<char, 8> text = {};
    std::snprintf(text.data(), text.size(), "#%02x%02x%02x", colour[0], colour[1], colour[2]);
    return text.data();
}

std::string_view series_colour(std::size_t index) {
    // Okabe and Ito's colours, which the colour-blind can tell apart, without the faint yellow.
    constexpr std::array<std::string_view, kSeriesColours> kColours = {
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#7a4fa3"};
    return kColours[index % kColours.size()];
}

}  // namespace clasp::draw
