#include "route/pattern.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"

namespace clasp::route {

namespace {

constexpr std::size_t kMaxItems = 64;
constexpr std::size_t kMaxGap = 8;

std::vector<std::string> words_of(std::string_view alternative) {
    std::string spaced(alternative);
    std::replace(spaced.begin(), spaced.end(), '_', ' ');
    std::vector<std::string> out;
    for (Word& word : split_words(spaced)) {
        if (word.kind != WordKind::Mark) out.push_back(std::move(word.text));
    }
    return out;
}

}  // namespace

// Walks items and words together. A pair that failed once is not tried again, so the work is bounded
// by their product.
class Pattern::Search {
   public:
    Search(const Pattern& pattern, std::span<const Word> words)
        : pattern_(pattern),
          words_(words),
          failed_((pattern.items_.size() + 1) * (words.size() + 1), false) {}

    bool from(std::size_t item, std::size_t at) {
        if (item == pattern_.items_.size()) return !pattern_.at_end_ || at == words_.size();
        const std::size_t state = item * (words_.size() + 1) + at;
        if (failed_[state]) return false;
        const bool found = try_item(pattern_.items_[item], item, at);
        if (!found) failed_[state] = true;
        return found;
    }

   private:
    bool try_item(const Item& item, std::size_t index, std::size_t at) {
        const std::size_t left = words_.size() - at;
        if (item.kind == Kind::Gap) {
            for (std::size_t skip = 0; skip <= std::min(kMaxGap, left); ++skip) {
                if (from(index + 1, at + skip)) return true;
            }
            return false;
        }
        if (item.optional && from(index + 1, at)) return true;
        if (item.kind == Kind::AnyWord) return left > 0 && from(index + 1, at + 1);
        for (const Alternative& alternative : item.alternatives) {
            if (begins_with(alternative, at) && from(index + 1, at + alternative.words.size())) return true;
        }
        return false;
    }

    [[nodiscard]] bool begins_with(const Alternative& alternative, std::size_t at) const {
        const std::vector<std::string>& wanted = alternative.words;
        if (words_.size() - at < wanted.size() || !alternative.fits_first(words_[at].text)) return false;
        for (std::size_t i = 1; i < wanted.size(); ++i) {
            if (words_[at + i].text != wanted[i]) return false;
        }
        return true;
    }

    const Pattern& pattern_;
    std::span<const Word> words_;
    std::vector<bool> failed_;
};

bool Pattern::Alternative::fits_first(const std::string& word) const {
    const std::string& wanted = words.front();
    if (open_start && open_end) return word.find(wanted) != std::string::npos;
    if (open_start) return word.ends_with(wanted);
    if (open_end) return word.starts_with(wanted);
    return word == wanted;
}

Result<Pattern> Pattern::parse(std::string_view text) {
    const auto fail = [&](std::string_view what) {
        return Status(Code::InvalidArgument, "pattern " + base::in_quotes(text) + " " + std::string(what));
    };
    if (base::first_invalid_utf8(text)) return fail("is not valid UTF-8");
    Pattern pattern;
    for (std::string_view piece : base::split(text, ' ')) {
        if (piece.empty()) continue;
        if (pattern.at_end_) return fail("goes on after $");
        if (piece == "^" && pattern.items_.empty() && !pattern.at_start_) {
            pattern.at_start_ = true;
            continue;
        }
        if (piece == "$") {
            pattern.at_end_ = true;
            continue;
        }
        Item item;
        if (piece == "...") {
            item.kind = Kind::Gap;
        } else {
            if (piece.size() > 1 && piece.back() == '?') {
                item.optional = true;
                piece.remove_suffix(1);
            }
            if (piece == "*") {
                item.kind = Kind::AnyWord;
            } else {
                for (std::string_view text_of : base::split(piece, '|')) {
                    Alternative alternative;
                    alternative.open_start = text_of.starts_with('~');
                    if (alternative.open_start) text_of.remove_prefix(1);
                    alternative.open_end = text_of.ends_with('~');
                    if (alternative.open_end) text_of.remove_suffix(1);
                    alternative.words = words_of(text_of);
                    if (alternative.words.empty()) return fail("has an alternative without words");
                    if ((alternative.open_start || alternative.open_end) && alternative.words.size() > 1) {
                        return fail("has a ~ at more than one word");
                    }
                    item.alternatives.push_back(std::move(alternative));
                }
            }
        }
        pattern.items_.push_back(std::move(item));
    }
    if (pattern.items_.empty()) return fail("has no words");
    if (pattern.items_.size() > kMaxItems) return fail("has more than 64 items");
    return pattern;
}

bool Pattern::matches(std::span<const Word> words) const {
    const std::size_t last = at_start_ ? 0 : words.size();
    std::optional<Search> search;  // made when a first word fits, which is rare
    for (std::size_t at = 0; at <= last; ++at) {
        if (!may_start(words, at)) continue;
        if (!search) search.emplace(*this, words);
        if (search->from(0, at)) return true;
    }
    return false;
}

bool Pattern::may_start(std::span<const Word> words, std::size_t at) const {
    const Item& first = items_.front();
    if (first.kind != Kind::Words || first.optional) return true;
    return at < words.size() && std::any_of(first.alternatives.begin(), first.alternatives.end(),
                                            [&](const Alternative& alternative) {
                                                return alternative.fits_first(words[at].text);
                                            });
}

}  // namespace clasp::route
