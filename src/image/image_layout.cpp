#include "clasp/image_layout.h"

namespace clasp {

std::size_t ImageLayout::n_tokens() const {
    std::size_t n = 0;
    for (const TokenRegion& region : regions) n += region.n_tokens();
    return n;
}

PixelRect ImageLayout::cell(TokenIndex token) const {
    std::size_t left = token;
    for (const TokenRegion& region : regions) {
        if (left >= region.n_tokens()) {
            left -= region.n_tokens();
            continue;
        }
        const double width = region.area.width / static_cast<double>(region.grid.width);
        const double height = region.area.height / static_cast<double>(region.grid.height);
        if (left < region.first_cell()) return {region.area.left, region.area.top, 0.0, 0.0};
        left -= region.first_cell();
        const std::size_t row = left / region.n_row_tokens();
        const std::size_t column = left % region.n_row_tokens();
        return {region.area.left + width * static_cast<double>(column),
                region.area.top + height * static_cast<double>(row), column < region.grid.width ? width : 0.0,
                height};
    }
    return {};
}

}  // namespace clasp
