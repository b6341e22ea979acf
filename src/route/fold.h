// Folding of single code points: lower case, base letters without accents, half width, ASCII
// punctuation, simplified characters for the traditional ones common in questions.
#pragma once

#include <string>

namespace clasp::route {

inline constexpr char32_t kDropped = 0;  // zero-width and combining characters vanish

// The folded code point, ' ' for white space and control characters, or kDropped. Ligatures and
// letters that fold to two (sharp s, ae, oe) give their first letter.
char32_t fold(char32_t c);

bool is_cjk(char32_t c);
// True for anything that can stand inside a word after folding: letters and digits of any script.
bool is_word_character(char32_t c);
bool is_upper(char32_t c);

}  // namespace clasp::route
