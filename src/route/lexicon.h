// Word classes: a list of words and phrases with the class each belongs to (data/lexicon.txt). It
// lets the classifier see "is NOUN COLOUR" where the question says "is the umbrella red".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clasp/status.h"
#include "route/text.h"

namespace clasp::route {

using TagId = std::uint16_t;

// A run of words that is one entry of the lexicon, or one word that is none.
struct Segment {
    std::string text;  // words joined by spaces
    TagId tag = 0;
    bool capital = false;
};

class Lexicon {
   public:
    // Corrupt with the line number if a line has no class name or no entry.
    static Result<Lexicon> parse(std::string_view text);
    // The one compiled in. It is checked by tests, so it cannot fail.
    static const Lexicon& builtin();

    // Longest match from left to right; words without an entry get a tag from their form (number,
    // -ing, -ed, single letter, capital, ...).
    [[nodiscard]] std::vector<Segment> tag(std::span<const Word> words) const;

    [[nodiscard]] std::string_view name(TagId tag) const { return names_[tag]; }
    // 0 if there is no such tag.
    [[nodiscard]] TagId find(std::string_view name) const;
    // Changes whenever the text of the lexicon does: a model belongs to one lexicon.
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

   private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    template <typename V>
    using TextMap = std::unordered_map<std::string, V, TextHash, std::equal_to<>>;

    TagId intern(std::string_view name);
    void add(std::string_view entry, std::string_view class_name);
    void add_form(std::string_view entry, TagId tag);
    [[nodiscard]] TagId tag_of_form(const Word& word) const;

    std::vector<std::string> names_;
    TextMap<TagId> tags_;              // name to id
    TextMap<TagId> entries_;           // words joined by spaces to tag
    TextMap<std::uint8_t> n_longest_;  // first word to the number of words of its longest entry
    std::uint64_t hash_ = 0;
};

}  // namespace clasp::route
