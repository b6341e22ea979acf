// Boards with three characters. The font is five by seven; every glyph stays in one patch column.
#include <array>

#include "world/painter.h"
#include "world/palette.h"

namespace clasp::world {
namespace {

using Glyph = std::array<std::string_view, 7>;

const Glyph& glyph_of(char c) {
    static const auto kTable = [] {
        std::array<Glyph, 128> t{};
        t['0'] = {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "};
        t['1'] = {"  #  ", " ##  ", "# #  ", "  #  ", "  #  ", "  #  ", "#####"};
        t['2'] = {" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"};
        t['3'] = {"#####", "   # ", "  #  ", "   # ", "    #", "#   #", " ### "};
        t['4'] = {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "};
        t['5'] = {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "};
        t['6'] = {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "};
        t['7'] = {"#####", "    #", "   # ", "  #  ", "  #  ", " #   ", " #   "};
        t['8'] = {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "};
        t['9'] = {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "};
        t['A'] = {"  #  ", " # # ", "#   #", "#   #", "#####", "#   #", "#   #"};
        t['C'] = {" ### ", "#   #", "#    ", "#    ", "#    ", "#   #", " ### "};
        t['E'] = {"#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#####"};
        t['F'] = {"#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#    "};
        t['H'] = {"#   #", "#   #", "#   #", "#####", "#   #", "#   #", "#   #"};
        t['J'] = {"  ###", "   # ", "   # ", "   # ", "   # ", "#  # ", " ##  "};
        t['K'] = {"#   #", "#  # ", "# #  ", "##   ", "# #  ", "#  # ", "#   #"};
        t['L'] = {"#    ", "#    ", "#    ", "#    ", "#    ", "#    ", "#####"};
        t['M'] = {"#   #", "## ##", "# # #", "# # #", "#   #", "#   #", "#   #"};
        t['N'] = {"#   #", "##  #", "##  #", "# # #", "#  ##", "#  ##", "#   #"};
        t['P'] = {"#### ", "#   #", "#   #", "#### ", "#    ", "#    ", "#    "};
        t['R'] = {"#### ", "#   #", "#   #", "#### ", "# #  ", "#  # ", "#   #"};
        t['T'] = {"#####", "  #  ", "  #  ", "  #  ", "  #  ", "  #  ", "  #  "};
        t['U'] = {"#   #", "#   #", "#   #", "#   #", "#   #", "#   #", " ### "};
        t['V'] = {"#   #", "#   #", "#   #", "#   #", " # # ", " # # ", "  #  "};
        t['W'] = {"#   #", "#   #", "#   #", "# # #", "# # #", "## ##", "#   #"};
        t['X'] = {"#   #", "#   #", " # # ", "  #  ", " # # ", "#   #", "#   #"};
        t['Y'] = {"#   #", "#   #", " # # ", "  #  ", "  #  ", "  #  ", "  #  "};
        return t;
    }();
    return kTable[static_cast<std::size_t>(c)];
}

}  // namespace

void paint_sign(Canvas& canvas, const Item& item, std::uint8_t owner) {
    const auto board = [&](float inset) {
        return [&item, inset](float x, float y) {
            const float dx = std::abs(x - item.x) - item.half_w + inset;
            const float dy = std::abs(y - item.y) - item.half_h + inset;
            return std::max(dx, dy);
        };
    };
    const bool is_light = item.colour == Colour::White || item.colour == Colour::Yellow;
    const Rgb ink = is_light ? kInk : Rgb{250, 250, 250};
    canvas.fill(item.x, item.y, item.half_w, item.half_h, owner, board(0), kInk);
    canvas.fill(item.x, item.y, item.half_w, item.half_h, owner, board(2), rgb_of(item.colour));

    const bool tall = item.size == Size::Large;
    const int scale_y = tall ? 3 : 2;
    const int left = static_cast<int>(item.x) - 3 * kPatch / 2;
    const int top = static_cast<int>(item.y) - 7 * scale_y / 2;
    for (int i = 0; i < 3; ++i) {
        const Glyph& glyph = glyph_of(item.text[static_cast<std::size_t>(i)]);
        for (int y = 0; y < 7 * scale_y; ++y)
            for (int x = 0; x < 10; ++x)
                if (glyph[static_cast<std::size_t>(y / scale_y)][static_cast<std::size_t>(x / 2)] == '#')
                    canvas.paint(left + i * kPatch + 2 + x, top + y, ink, 1.0F, owner);
    }
}

}  // namespace clasp::world
