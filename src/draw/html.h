// Pieces of self-contained HTML pages: everything a page shows is inside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace clasp::draw {

// Text for an element or a quoted attribute; bytes that no XML may hold become "?".
std::string escape_html(std::string_view text);

std::string base64(std::span<const std::uint8_t> bytes);

// An image element with its PNG inside.
std::string png_element(std::span<const std::uint8_t> png, std::string_view description);

// A whole page around its body, well-formed as XML too.
std::string html_page(std::string_view title, std::string_view body);

// The colour of a value on a scale from red (below) through white to blue (above), -1 to 1, as "#rrggbb".
std::string diverging_colour(double value);
// Colours of series in charts; there are kSeriesColours of them, then they repeat.
inline constexpr std::size_t kSeriesColours = 8;
std::string_view series_colour(std::size_t index);

}  // namespace clasp::draw
