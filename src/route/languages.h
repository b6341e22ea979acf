// Languages that the classifier was not taught: how a question is recognised as not one of its own, and
// what a few question words of other languages settle all the same (data/languages.json).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "clasp/status.h"
#include "route/profile.h"
#include "route/rules.h"
#include "route/script.h"

namespace clasp::route {

struct Language {
    std::string code;  // ISO 639-1
    std::string name;
    Script script = Script::Latin;
    std::vector<Rule> rules;
    std::vector<std::pair<std::string, std::string>> matches;  // intent and a question that gets it
};

class Languages {
   public:
    // Corrupt names the language and the field.
    static Result<Languages> parse(std::string_view json);
    // data/languages.json. It is checked by tests, so it cannot fail.
    static const Languages& builtin();

    [[nodiscard]] const std::vector<Language>& all() const { return languages_; }
    // Bit i: the word is a frequent one of all()[i].
    [[nodiscard]] std::uint32_t of_word(std::string_view word) const;

   private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };

    void add_words(std::string_view text, std::size_t language);

    std::vector<Language> languages_;
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> words_;
};

// What a question is written in, as far as it matters.
struct Tongue {
    bool is_taught = true;
    Script script = Script::Latin;
    const Language* language = nullptr;  // when its frequent words give it away; borrowed from `languages`
    std::string reason;                  // why it is not taught
};

Tongue recognise(std::span<const Word> words, const LanguageProfile& profile, const Languages& languages);

// The rule of the question's language that fits, or null. Where the script leaves several languages, those
// with most of their frequent words in the question are tried first.
const Rule* find_language_rule(const Languages& languages, const Tongue& tongue, std::span<const Word> words);

}  // namespace clasp::route
