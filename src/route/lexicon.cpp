#include "route/lexicon.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "route/embedded.h"
#include "route/hash.h"

namespace clasp::route {

namespace {

// Tags of words that are in no class, by their form. Interned first, so their ids are fixed.
enum FormTag : TagId { kOther, kNumber, kMark, kIng, kEd, kLetter, kProper, kHan, kN_FormTags };
constexpr std::array<std::string_view, kN_FormTags> kFormNames = {"X",  "NUM",    "MARK",   "ING",
                                                                  "ED", "LETTER", "PROPER", "HAN"};

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_vowel(char c) {
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
}

struct Inflected {
    std::string third;
    std::string past;
    std::string ing;
};

// Regular English inflection, with doubled consonants left to entries of their own.
Inflected inflect(std::string_view verb) {
    const std::string base(verb);
    const std::string stem = base.substr(0, base.size() - 1);
    const char last = base.back();
    const char before = base.size() > 1 ? base[base.size() - 2] : 'a';
    if (last == 'e') return {base + "s", base + "d", (before == 'e' ? base : stem) + "ing"};
    if (last == 'y' && !is_vowel(before)) return {stem + "ies", stem + "ied", base + "ing"};
    const bool hisses =
        last == 's' || last == 'x' || last == 'z' || base.ends_with("ch") || base.ends_with("sh");
    return {base + (hisses ? "es" : "s"), base + "ed", base + "ing"};
}

std::string join(std::span<const Word> words) {
    std::string out;
    for (const Word& word : words) {
        if (!out.empty()) out.push_back(' ');
        out += word.text;
    }
    return out;
}

}  // namespace

const Lexicon& Lexicon::builtin() {
    static const Lexicon lexicon = [] {
        Result<Lexicon> parsed = parse(embedded_lexicon());
        CLASP_CHECK(parsed.ok());
        return std::move(parsed).value();
    }();
    return lexicon;
}

Result<Lexicon> Lexicon::parse(std::string_view text) {
    Lexicon lexicon;
    for (const std::string_view name : kFormNames) lexicon.intern(name);
    lexicon.hash_ = hash_bytes(text);
    std::size_t n_line = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++n_line;
        if (line.empty() || line.front() == '#') continue;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0 || trimmed(line.substr(colon + 1)).empty()) {
            return Status(Code::Corrupt,
                          "lexicon line " + std::to_string(n_line) + " is not 'CLASS: entry, ...'");
        }
        std::string_view entries = line.substr(colon + 1);
        while (!entries.empty()) {
            const std::size_t comma = std::min(entries.find(','), entries.size());
            const std::string_view entry = trimmed(entries.substr(0, comma));
            if (!entry.empty()) lexicon.add(entry, line.substr(0, colon));
            entries.remove_prefix(std::min(comma + 1, entries.size()));
        }
    }
    return lexicon;
}

TagId Lexicon::intern(std::string_view name) {
    const auto found = tags_.find(name);
    if (found != tags_.end()) return found->second;
    const auto id = static_cast<TagId>(names_.size());
    names_.emplace_back(name);
    tags_.emplace(names_.back(), id);
    return id;
}

TagId Lexicon::find(std::string_view name) const {
    const auto found = tags_.find(name);
    return found == tags_.end() ? TagId{0} : found->second;
}

void Lexicon::add(std::string_view entry, std::string_view class_name) {
    if (class_name == "self") {
        add_form(entry, intern(entry));
        return;
    }
    const TagId tag = intern(class_name);
    if (entry.back() != '~') {
        add_form(entry, tag);
        return;
    }
    entry.remove_suffix(1);
    const Inflected forms = inflect(entry);
    add_form(entry, tag);
    add_form(forms.third, tag);
    add_form(forms.past, tag);
    add_form(forms.ing, intern(std::string(class_name) + "+ING"));
}

// The first class that names a word keeps it: the order of the file is the order of precedence.
void Lexicon::add_form(std::string_view entry, TagId tag) {
    const std::vector<Word> words = split_words(entry);
    if (words.empty()) return;
    entries_.emplace(join(words), tag);
    std::uint8_t& longest = n_longest_[words.front().text];
    longest = std::max(longest, static_cast<std::uint8_t>(std::min<std::size_t>(words.size(), 255)));
}

TagId Lexicon::tag_of_form(const Word& word) const {
    switch (word.kind) {
        case WordKind::Number: return kNumber;
        case WordKind::Mark: return kMark;
        case WordKind::Cjk: return kHan;
        case WordKind::Word: break;
    }
    if (word.text.size() == 1) return kLetter;
    if (word.text.size() > 4 && word.text.ends_with("ing")) return kIng;
    if (word.text.size() > 4 && word.text.ends_with("ed")) return kEd;
    return word.capital ? kProper : kOther;
}

std::vector<Segment> Lexicon::tag(std::span<const Word> words) const {
    std::vector<Segment> out;
    out.reserve(words.size());
    for (std::size_t at = 0; at < words.size();) {
        const Word& word = words[at];
        std::size_t length = 0;
        const auto first = n_longest_.find(word.text);
        if (first != n_longest_.end()) length = std::min<std::size_t>(first->second, words.size() - at);
        for (; length > 0; --length) {
            std::string key = join(words.subspan(at, length));
            const auto found = entries_.find(key);
            if (found == entries_.end()) continue;
            out.push_back({std::move(key), found->second, word.capital});
            break;
        }
        if (length == 0) {
            out.push_back({word.text, tag_of_form(word), word.capital});
            length = 1;
        }
        at += length;
    }
    return out;
}

}  // namespace clasp::route
