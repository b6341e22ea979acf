#include "clasp/image_layout.h"

namespace clasp {

std::size_t ImageLayout::n_tokens() const {
    std::size_t n = 0;
    for (const TokenRegion& region : regions) n += region.grid.height * region.grid.width;
    return n;
}

PixelRect ImageLayout::cell(TokenIndex token) const {
    std::size_t left = token;
    for (const TokenRegion& region : regions) {
        const std::size_t n = region.grid.height * region.grid.width;
        if (left >= n) {
            left -= n;
            continue;
        }
        const double width = region.area.width / static_cast<double>(region.grid.width);
        const double height = region.area.height / static_cast<double>(region.grid.height);
        const std::size_t row = left / region.grid.width;
        const std::size_t column = left % region.grid.width;
        return {region.area.left + width * static_cast<double>(column),
                region.area.top + height * static_cast<double>(row), width, height};
    }
    return {};
}

}  // namespace clasp
