// Text operations with the meaning that the official scoring scripts give them: white space and letter
// case of Unicode, not of ASCII. Bytes that are not UTF-8 are kept as they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clasp::eval {

// Lower case of Latin, Greek, Cyrillic and Armenian letters and full-width forms.
std::string lower_text(std::string_view text);

// Pieces between runs of white space; none are empty.
std::vector<std::string_view> words(std::string_view text);

// White space off both ends.
std::string_view strip(std::string_view text);

// Every occurrence of `from`, left to right, without looking at what was put in.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace clasp::eval
