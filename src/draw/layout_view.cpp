#include "draw/layout_view.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace clasp::draw {

namespace {

// A region and the number of its first token.
struct Placed {
    const TokenRegion* region = nullptr;
    std::size_t first = 0;
};

// The token in a cell, counted row by row.
std::size_t token_at(const Placed& placed, std::size_t cell) {
    const std::size_t columns = placed.region->grid.width;
    return placed.first + placed.region->first_cell() + cell / columns * placed.region->n_row_tokens() +
           cell % columns;
}

LayoutView view_of(const Placed& placed) {
    const TokenRegion& region = *placed.region;
    LayoutView view = {
        region.area, static_cast<int>(region.grid.height), static_cast<int>(region.grid.width), {}};
    for (std::size_t i = 0; i < region.grid.height * region.grid.width; ++i) {
        view.tokens.push_back(token_at(placed, i));
    }
    return view;
}

PixelRect around(const std::vector<Placed>& regions) {
    PixelRect box = regions.front().region->area;
    for (const Placed& placed : regions) {
        const PixelRect& area = placed.region->area;
        const double right = std::max(box.left + box.width, area.left + area.width);
        const double bottom = std::max(box.top + box.height, area.top + area.height);
        box.left = std::min(box.left, area.left);
        box.top = std::min(box.top, area.top);
        box.width = right - box.left;
        box.height = bottom - box.top;
    }
    return box;
}

// All regions in one grid; empty tokens when they do not fill it.
LayoutView joined(const std::vector<Placed>& regions) {
    const TokenRegion& one = *regions.front().region;
    const double width = one.area.width / static_cast<double>(one.grid.width);
    const double height = one.area.height / static_cast<double>(one.grid.height);
    LayoutView view;
    view.area = around(regions);
    view.rows = static_cast<int>(std::lround(view.area.height / height));
    view.columns = static_cast<int>(std::lround(view.area.width / width));
    const auto n_columns = static_cast<std::size_t>(view.columns);
    const std::size_t n_cells = static_cast<std::size_t>(view.rows) * n_columns;
    view.tokens.assign(n_cells, 0);
    std::set<std::size_t> filled;
    for (const Placed& placed : regions) {
        const TokenRegion& region = *placed.region;
        const auto top = static_cast<std::size_t>(std::lround((region.area.top - view.area.top) / height));
        const auto left = static_cast<std::size_t>(std::lround((region.area.left - view.area.left) / width));
        for (std::size_t i = 0; i < region.grid.height * region.grid.width; ++i) {
            const std::size_t row = top + i / region.grid.width;
            const std::size_t column = left + i % region.grid.width;
            if (row * n_columns + column >= n_cells || column >= n_columns) return {};
            view.tokens[row * n_columns + column] = token_at(placed, i);
            filled.insert(row * n_columns + column);
        }
    }
    if (filled.size() != n_cells) view.tokens.clear();
    return view;
}

}  // namespace

std::vector<LayoutView> layout_views(const ImageLayout& layout) {
    std::vector<std::vector<Placed>> by_view;
    std::vector<std::size_t> numbers;
    std::size_t first = 0;
    for (const TokenRegion& region : layout.regions) {
        const auto known = std::find(numbers.begin(), numbers.end(), region.view);
        const auto at = static_cast<std::size_t>(known - numbers.begin());
        if (known == numbers.end()) {
            numbers.push_back(region.view);
            by_view.emplace_back();
        }
        by_view[at].push_back({&region, first});
        first += region.n_tokens();
    }
    std::vector<LayoutView> views;
    for (const std::vector<Placed>& regions : by_view) {
        LayoutView all = joined(regions);
        if (!all.tokens.empty()) {
            views.push_back(std::move(all));
        } else {
            for (const Placed& placed : regions) views.push_back(view_of(placed));
        }
    }
    return views;
}

Result<FramedPicture> frame_picture(const Image& picture, const PixelRect& area,
                                    const image::Colour& colour) {
    const auto rounded = [](double x) { return static_cast<int>(std::lround(x)); };
    const int left = rounded(area.left);
    const int top = rounded(area.top);
    const int right = std::max(left + 1, rounded(area.left + area.width));
    const int bottom = std::max(top + 1, rounded(area.top + area.height));
    const int from_x = std::max(left, 0);
    const int from_y = std::max(top, 0);
    const image::Size seen = {std::min(right, picture.width) - from_x,
                              std::min(bottom, picture.height) - from_y};
    if (seen.width < 1 || seen.height < 1) {
        return Status(Code::InvalidArgument, "the tokens to be drawn lie outside the picture");
    }
    FramedPicture framed;
    CLASP_ASSIGN_OR_RETURN(framed.picture, image::crop(picture, from_x, from_y, seen));
    framed.frame = {{right - left, bottom - top}, from_x - left, from_y - top, colour};
    return framed;
}

}  // namespace clasp::draw
