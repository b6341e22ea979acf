// What the training questions were written with: their scripts, their words and the pieces of their
// words. A question that shares too little of it is in a language that the classifier was not taught.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "route/script.h"
#include "route/text.h"

namespace clasp::route {

// The script of a word's first letter.
Script script_of(const Word& word);

class LanguageProfile {
   public:
    // Empty, and then everything counts as known.
    LanguageProfile() = default;
    // Ascending hashes; `scripts` has one bit per script.
    LanguageProfile(std::uint32_t scripts, std::vector<std::uint32_t> words,
                    std::vector<std::uint32_t> pieces)
        : scripts_(scripts), words_(std::move(words)), pieces_(std::move(pieces)) {}

    // Words and pieces that a few questions have, so that slips and names do not enter. Empty below a
    // thousand questions: too few to tell a language by.
    static LanguageProfile learn(std::span<const std::vector<Word>> questions);

    [[nodiscard]] bool is_empty() const { return scripts_ == 0; }
    [[nodiscard]] bool knows(Script script) const;
    [[nodiscard]] bool knows(std::string_view word) const;

    struct Share {
        std::size_t n_known = 0;
        std::size_t n = 0;
    };
    // Of the word's pieces of three letters, borders included. Those of an accented word count as unknown.
    [[nodiscard]] Share known_pieces(const Word& word) const;

    [[nodiscard]] std::uint32_t scripts() const { return scripts_; }
    [[nodiscard]] const std::vector<std::uint32_t>& words() const { return words_; }
    [[nodiscard]] const std::vector<std::uint32_t>& pieces() const { return pieces_; }

   private:
    std::uint32_t scripts_ = 0;
    std::vector<std::uint32_t> words_;
    std::vector<std::uint32_t> pieces_;
};

}  // namespace clasp::route
