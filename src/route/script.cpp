#include "route/script.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace clasp::route {

namespace {

struct Range {
    char32_t first;
    char32_t last;
    Script script;
};

// Blocks of letters, ascending.
constexpr std::array kRanges = {
    Range{0x0041, 0x024F, Script::Latin},    Range{0x0370, 0x03FF, Script::Greek},
    Range{0x0400, 0x052F, Script::Cyrillic}, Range{0x0590, 0x05FF, Script::Hebrew},
    Range{0x0600, 0x077F, Script::Arabic},   Range{0x0900, 0x097F, Script::Devanagari},
    Range{0x0980, 0x09FF, Script::Bengali},  Range{0x0B80, 0x0BFF, Script::Tamil},
    Range{0x0C00, 0x0C7F, Script::Telugu},   Range{0x0E00, 0x0E7F, Script::Thai},
    Range{0x1100, 0x11FF, Script::Hangul},   Range{0x1E00, 0x1EFF, Script::Latin},
    Range{0x1F00, 0x1FFF, Script::Greek},    Range{0x3040, 0x30FF, Script::Kana},
    Range{0x3130, 0x318F, Script::Hangul},   Range{0x3400, 0x9FFF, Script::Han},
    Range{0xAC00, 0xD7AF, Script::Hangul},   Range{0xF900, 0xFAFF, Script::Han},
    Range{0xFB50, 0xFDFF, Script::Arabic},   Range{0xFE70, 0xFEFC, Script::Arabic},
    Range{0x20000, 0x323AF, Script::Han},
};

constexpr std::array<std::string_view, kN_Scripts> kNames = {
    "Latin",      "Han",     "Kana",  "Cyrillic", "Greek", "Hebrew", "Arabic",
    "Devanagari", "Bengali", "Tamil", "Telugu",   "Thai",  "Hangul", "another"};

}  // namespace

Script script_of(char32_t letter) {
    const auto range =
        std::find_if(kRanges.begin(), kRanges.end(), [letter](const Range& r) { return letter <= r.last; });
    return range != kRanges.end() && letter >= range->first ? range->script : Script::Other;
}

std::string_view script_name(Script script) {
    return kNames[static_cast<std::size_t>(script)];
}

std::optional<Script> script_named(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Script>(found - kNames.begin());
}

}  // namespace clasp::route
