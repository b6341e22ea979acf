// From the raw question to the words that the rules and the classifier see: UTF-8 checked, case,
// accents, width and script variants folded, answer options and prompt suffixes of benchmarks cut
// away, Chinese split into characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::route {

inline constexpr std::size_t kMaxQuestionBytes = 64 * 1024;
// Of a longer question the first and the last kMaxWords / 2 words are looked at: what is asked
// stands at an end, pasted material between.
inline constexpr std::size_t kMaxWords = 256;

enum class WordKind : std::uint8_t { Word, Number, Cjk, Mark };

struct Word {
    std::string text;  // folded, UTF-8
    WordKind kind = WordKind::Word;
    bool capital = false;   // began with a capital that is not the first letter of the question
    bool accented = false;  // had letters that folding took an accent from

    bool operator==(const Word&) const = default;
};

// Removes what benchmarks add around a question: image placeholders, "Question:" and "Hint:"
// labels, lists of lettered options, OCR token lines, instructions about the form of the answer.
// If nothing would remain the text is returned whole.
std::string strip_boilerplate(std::string_view text);

// Folds and splits without any stripping: what patterns and lexicon entries go through.
// Precondition: valid UTF-8.
std::vector<Word> split_words(std::string_view text);

// The whole way. TooLarge above kMaxQuestionBytes, Corrupt for invalid UTF-8 (with the offset). The
// result may be empty or hold marks only.
Result<std::vector<Word>> read_question(std::string_view text);

}  // namespace clasp::route
