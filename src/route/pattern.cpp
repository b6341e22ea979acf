#include "route/pattern.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "route/utf8.h"

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
        for (const auto& alternative : item.alternatives) {
            if (begins_with(alternative, at) && from(index + 1, at + alternative.size())) return true;
        }
        return false;
    }

    [[nodiscard]] bool begins_with(const std::vector<std::string>& alternative, std::size_t at) const {
        if (words_.size() - at < alternative.size()) return false;
        for (std::size_t i = 0; i < alternative.size(); ++i) {
            if (words_[at + i].text != alternative[i]) return false;
        }
        return true;
    }

    const Pattern& pattern_;
    std::span<const Word> words_;
    std::vector<bool> failed_;
};

Result<Pattern> Pattern::parse(std::string_view text) {
    const auto fail = [&](std::string_view what) {
        return Status(Code::InvalidArgument, "pattern " + base::in_quotes(text) + " " + std::string(what));
    };
    if (first_invalid_utf8(text)) return fail("is not valid UTF-8");
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
                for (const std::string_view alternative : base::split(piece, '|')) {
                    item.alternatives.push_back(words_of(alternative));
                    if (item.alternatives.back().empty()) return fail("has an alternative without words");
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
    return at < words.size() &&
           std::any_of(first.alternatives.begin(), first.alternatives.end(),
                       [&](const auto& alternative) { return alternative.front() == words[at].text; });
}

}  // namespace clasp::route
