#include "cli/route_picture.h"

#include <numeric>

#include "cli/output.h"

namespace clasp::cli {

namespace {

constexpr int kCell = 56;
constexpr int kLeft = 240;
constexpr int kTop = 70;

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&') {
            out += "&amp;";
        } else if (c == '<') {
            out += "&lt;";
        } else {
            out.push_back(c);
        }
    }
    return out;
}

std::string text_at(int x, int y, const std::string& style, const std::string& text) {
    return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" " + style + ">" +
           escaped(text) + "</text>\n";
}

// White for nothing, a deep blue for the whole row.
std::string shade(double share) {
    const auto mix = [share](int full) {
        return std::to_string(static_cast<int>(255.0 + share * (full - 255)));
    };
    return "rgb(" + mix(23) + "," + mix(78) + "," + mix(145) + ")";
}

std::string cell(int x, int y, std::size_t count, double share) {
    std::string out = "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
                      std::to_string(kCell) + "\" height=\"" + std::to_string(kCell) + "\" fill=\"" +
                      shade(share) + "\" stroke=\"#ddd\"/>\n";
    if (count == 0) return out;
    const std::string fill = share > 0.5 ? "fill=\"#fff\" " : "fill=\"#222\" ";
    out += text_at(x + kCell / 2, y + kCell / 2, fill + "text-anchor=\"middle\" font-size=\"15\"",
                   fixed(100.0 * share, 1));
    out += text_at(x + kCell / 2, y + kCell / 2 + 17, fill + "text-anchor=\"middle\" font-size=\"10\"",
                   std::to_string(count));
    return out;
}

}  // namespace

std::string confusion_svg(const std::vector<RouteClass>& classes,
                          const std::vector<std::vector<std::size_t>>& confusion) {
    const int n = static_cast<int>(classes.size());
    const std::string width = std::to_string(kLeft + n * kCell + 20);
    const std::string height = std::to_string(kTop + n * kCell + 20);
    std::string svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
        "\" viewBox=\"0 0 " + width + " " + height +
        "\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    svg += text_at(kLeft - 10, 22, "text-anchor=\"end\" font-size=\"13\" fill=\"#222\"",
                   "label (rows), router (columns)");
    svg += text_at(kLeft - 10, 40, "text-anchor=\"end\" font-size=\"11\" fill=\"#666\"",
                   "per cent of the row, count below");
    for (int i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const std::string id = std::to_string(classes[row].id);
        svg += text_at(kLeft + i * kCell + kCell / 2, kTop - 10,
                       "text-anchor=\"middle\" font-size=\"14\" fill=\"#222\"", id);
        svg += text_at(kLeft - 10, kTop + i * kCell + kCell / 2 + 5,
                       "text-anchor=\"end\" font-size=\"14\" fill=\"#222\"", classes[row].name + "  " + id);
        const std::size_t total =
            std::accumulate(confusion[row].begin(), confusion[row].end(), std::size_t{0});
        for (int j = 0; j < n; ++j) {
            const std::size_t count = confusion[row][static_cast<std::size_t>(j)];
            const double share = total == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(total);
            svg += cell(kLeft + j * kCell, kTop + i * kCell, count, share);
        }
    }
    return svg + "</svg>\n";
}

}  // namespace clasp::cli
