// Patterns over words for the rules, simple enough to read and to bound: no backtracking beyond
// words times items.
//
//   who wrote            these words, next to each other
//   what|which time      one of several words
//   phone_number|fax     an alternative of two words
//   the?                 may be missing
//   color~               a word that begins so;  ~color  that ends so;  ~color~  that has it inside
//   *                    any one word
//   ...                  up to eight words
//   ^ what               only at the start;  a letter $  only at the end
//
// Marks such as the question mark are not seen. Chinese needs no blanks inside an alternative.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "route/text.h"

namespace clasp::route {

class Pattern {
   public:
    // InvalidArgument names what is wrong: empty, more than 64 items, an item without words, an open end
    // of more than one word.
    static Result<Pattern> parse(std::string_view text);

    // `words` must hold no marks.
    [[nodiscard]] bool matches(std::span<const Word> words) const;

   private:
    enum class Kind : unsigned char { Words, AnyWord, Gap };
    // What one alternative asks of the words there; open ends only where it is a single word.
    struct Alternative {
        std::vector<std::string> words;
        bool open_start = false;
        bool open_end = false;

        [[nodiscard]] bool fits_first(const std::string& word) const;
    };
    struct Item {
        Kind kind = Kind::Words;
        bool optional = false;
        std::vector<Alternative> alternatives;
    };
    class Search;

    // Whether the first item can match at this word; cheap, without looking further.
    [[nodiscard]] bool may_start(std::span<const Word> words, std::size_t at) const;

    std::vector<Item> items_;
    bool at_start_ = false;
    bool at_end_ = false;
};

}  // namespace clasp::route
