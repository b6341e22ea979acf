#include "draw/font.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace clasp::draw {

namespace {

// Strokes of the characters from ' ' to '~', then the box. The first character is the width; then strokes,
// each a kind and points of two digits x, y in base 17 (0-9, a-g): L joins points by straight lines, S bends
// smoothly from the first to the last with the others as controls, C bends around all of them and closes.
constexpr std::array<std::string_view, 96> kGlyphs = {
    "4",
    "0 L0008 L0c0c",
    "3 L0004 L3034",
    "8 L301c L705c L0484 L0888",
    "6 S62600006666c0c0a L303c",
    "8 C00404404 C48888c4c L800c",
    "8 S8c24206064070c6c87",
    "0 L0004",
    "3 S30020b3d",
    "3 S00323b0d",
    "6 L3137 L0266 L6206",
    "6 L343a L0767",
    "1 L1b0e",
    "5 L0757",
    "0 L0c0c",
    "5 L500d",
    "7 C0070767c0c06",
    "4 L03303c",
    "6 S030060650c L0c6c",
    "6 S0200606626 S26666c0c0a",
    "7 L5c500878",
    "6 L600005 S05646c0c0a",
    "6 S500009 C05656c0c",
    "6 L00602c",
    "6 C00606606 C06666c0c",
    "6 C00606707 S636c1c",
    "0 L0505 L0c0c",
    "1 L1515 L1b0e",
    "6 L63076b",
    "6 L0565 L0969",
    "6 L03670b",
    "6 S020060653538 L3c3c",
    "9 C34646939 S64699990000c7c",
    "8 L0c408c L1878",
    "7 L0c00 S004070764606 S0646767c4c0c",
    "7 S7270000c7c7a",
    "7 L0c00 S0030707c3c0c",
    "6 L60000c6c L0656",
    "6 L60000c L0656",
    "7 S7270000c7c77 L7747",
    "7 L000c L707c L0676",
    "2 L101c L0020 L0c2c",
    "5 S50565c0c09",
    "7 L000c L7007 L257c",
    "6 L000c6c",
    "8 L0c0048808c",
    "7 L0c007c70",
    "8 C00808c0c",
    "7 L0c00 S004070774707",
    "8 C00808c0c L498d",
    "7 L0c00 S004070764606 L367c",
    "6 S62600006666c0c0a",
    "8 L0080 L404c",
    "7 S00070c7c7770",
    "8 L004c80",
    "a L003c527ca0",
    "7 L007c L700c",
    "8 L004680 L464c",
    "7 L00700c7c",
    "3 L30000d3d",
    "5 L005d",
    "3 L00303d0d",
    "6 L053065",
    "7 L0e7e",
    "2 L0022",
    "6 C04646c0c L646c",
    "6 L000c C04646c0c",
    "6 S6664040c6c6a",
    "6 L606c C04646c0c",
    "6 L0868 S6864040c5c6a",
    "4 S4010141c L0444",
    "6 C04646c0c S646a6g0g0e",
    "6 L000c S070464686c",
    "0 L040c L0101",
    "2 S242c2g0g L2121",
    "5 L000c L5409 L275c",
    "0 L000c",
    "a L040c S070454585c S5754a4a8ac",
    "6 L040c S070464686c",
    "6 C04646c0c",
    "6 L040g C04646c0c",
    "6 L646g C04646c0c",
    "4 L040c S080444",
    "5 S56540408585c0c0a",
    "4 S11181c4c L0444",
    "6 S04080c6c6964 L646c",
    "6 L043c64",
    "8 L042c466c84",
    "6 L046c L640c",
    "6 L043c L641g",
    "6 L04640c6c",
    "4 S40202707 S07272d4d",
    "0 L000e",
    "4 S00202747 S47272d0d",
    "6 S08154966",
    "7 L00707c0c00",
};
constexpr std::size_t kBox = kGlyphs.size() - 1;

double digit(char c) {
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

Point middle(Point a, Point b) {
    return {(a.x + b.x) / 2, (a.y + b.y) / 2};
}

// Appends the quadratic curve from `from` to `to` with one control point.
void add_bend(std::vector<Point>& line, Point from, Point control, Point to) {
    constexpr int kSteps = 6;
    for (int i = 1; i <= kSteps; ++i) {
        const double t = static_cast<double>(i) / kSteps;
        const double a = (1 - t) * (1 - t);
        const double b = 2 * t * (1 - t);
        line.push_back(
            {a * from.x + b * control.x + t * t * to.x, a * from.y + b * control.y + t * t * to.y});
    }
}

// Quadratic B-splines: an open one begins and ends at its outer points, a closed one goes around.
std::vector<Point> bend(const std::vector<Point>& points, bool is_closed) {
    const std::size_t n = points.size();
    std::vector<Point> line;
    if (is_closed) {
        line.push_back(middle(points[n - 1], points[0]));
        for (std::size_t i = 0; i < n; ++i) {
            add_bend(line, line.back(), points[i], middle(points[i], points[(i + 1) % n]));
        }
        return line;
    }
    line.push_back(points[0]);
    for (std::size_t i = 1; i + 1 < n; ++i) {
        const bool is_last = i + 2 == n;
        add_bend(line, line.back(), points[i], is_last ? points[n - 1] : middle(points[i], points[i + 1]));
    }
    return line;
}

Glyph parse(std::string_view text) {
    Glyph glyph;
    glyph.width = digit(text[0]);
    std::size_t at = 1;
    while (at < text.size()) {
        const char kind = text[++at];  // after a blank
        std::vector<Point> points;
        for (++at; at + 1 < text.size() && text[at] != ' '; at += 2) {
            points.push_back({digit(text[at]), digit(text[at + 1])});
        }
        glyph.strokes.push_back(kind == 'L' ? points : bend(points, kind == 'C'));
    }
    return glyph;
}

char32_t simplify(char32_t c) {
    if (c == 0x2018 || c == 0x2019) return '\'';
    if (c == 0x201C || c == 0x201D) return '"';
    if (c >= 0x2010 && c <= 0x2015) return '-';
    if (c == 0x2212) return '-';
    if (c == 0x00A0 || c == 0x202F || c == '\t') return ' ';
    return c;
}

// Length of the sequence that a lead byte begins; 0 for bytes that begin none.
std::size_t sequence_length(std::uint8_t lead) {
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return 2;
    if (lead >= 0xE0 && lead <= 0xEF) return 3;
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

}  // namespace

Glyph glyph_of(char32_t code_point) {
    const bool is_known = code_point >= ' ' && code_point <= '~';
    return parse(kGlyphs[is_known ? code_point - ' ' : kBox]);
}

std::u32string decode_text(std::string_view utf8) {
    std::u32string out;
    for (std::size_t i = 0; i < utf8.size();) {
        const auto lead = static_cast<std::uint8_t>(utf8[i]);
        const std::size_t length = sequence_length(lead);
        char32_t code_point = length <= 1 ? lead : lead & (0xFFU >> (length + 1));
        bool is_whole = length > 0 && i + length <= utf8.size();
        for (std::size_t k = 1; is_whole && k < length; ++k) {
            const auto next = static_cast<std::uint8_t>(utf8[i + k]);
            is_whole = (next & 0xC0) == 0x80;
            code_point = (code_point << 6) | (next & 0x3F);
        }
        if (!is_whole) {
            out.push_back(0xFFFD);
            ++i;
            continue;
        }
        i += length;
        if (code_point == 0x2026) {
            out += U"...";
        } else {
            out.push_back(simplify(code_point));
        }
    }
    return out;
}

}  // namespace clasp::draw
