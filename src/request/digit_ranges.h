// Whole numbers of a range, digit by digit, as alternatives of a grammar in llama.cpp's notation.
#pragma once

#include <cstdint>
#include <string>

namespace clasp::request {

// No number of more digits is ever allowed.
inline constexpr int kMaxDigits = 16;
inline constexpr std::int64_t kLargestWhole = 9'999'999'999'999'999;

// All whole numbers from low to high, without leading zeros. Precondition: low <= high, and neither has more
// digits than kMaxDigits.
std::string whole_numbers(std::int64_t low, std::int64_t high);

}  // namespace clasp::request
