#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace clasp::training {
namespace {

void append_utf8(std::string& out, int code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else {
        out += static_cast<char>(0xc0 | (code >> 6));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

// GPT-2 shows every byte as a printable letter: itself if printable, else 256 and up.
const std::array<std::string, 256>& printable_bytes() {
    static const auto kTable = [] {
        std::array<std::string, 256> table;
        int extra = 256;
        for (int b = 0; b < 256; ++b) {
            const bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
            append_utf8(table[static_cast<std::size_t>(b)], plain ? b : extra++);
        }
        return table;
    }();
    return kTable;
}

std::string to_printable(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) out += printable_bytes()[static_cast<unsigned char>(c)];
    return out;
}

std::vector<std::string> letters_of(std::string_view printable) {
    std::vector<std::string> letters;
    for (std::size_t i = 0; i < printable.size();) {
        const std::size_t n = (static_cast<unsigned char>(printable[i]) & 0x80) != 0 ? 2 : 1;
        letters.emplace_back(printable.substr(i, n));
        i += n;
    }
    return letters;
}

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}
bool is_other(char c) {
    return !is_letter(c) && !is_digit(c) && !is_space(c);
}

// End of the longest contraction ('s, 't, 're, 've, 'm, 'll, 'd) at `at`, or `at`.
std::size_t contraction_end(std::string_view text, std::size_t at) {
    for (const std::string_view tail : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (text.substr(at).starts_with(tail)) return at + tail.size();
    return at;
}

void merge_pair(std::vector<std::string>& parts, const std::string& left, const std::string& right) {
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        if (parts[i] == left && parts[i + 1] == right) {
            parts[i] += parts[i + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    const auto run = [&](std::size_t from, auto test) {
        while (from < text.size() && test(text[from])) ++from;
        return from;
    };
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = contraction_end(text, at);
        if (end == at) {
            const std::size_t body = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
            if (is_letter(text[body]))
                end = run(body, is_letter);
            else if (is_digit(text[body]))
                end = run(body, is_digit);
            else if (is_other(text[body]))
                end = run(body, is_other);
            else {
                end = run(at, is_space);
                // the last space before a word belongs to the word
                if (end < text.size() && end - at > 1) --end;
            }
        }
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

void Vocabulary::add_token(const std::string& token) {
    if (ids_.emplace(token, size()).second) tokens_.push_back(token);
}

void Vocabulary::add_bytes() {
    for (const char* special : {"<s>", "</s>", "<pad>"}) add_token(special);
    for (const std::string& letter : printable_bytes()) add_token(letter);
}

void Vocabulary::add_merge(const std::string& left, const std::string& right) {
    if (!ranks_.emplace(std::pair(left, right), static_cast<int>(merges_.size())).second) return;
    merges_.push_back(left + " " + right);
    add_token(left + right);
}

Vocabulary Vocabulary::learn(const std::vector<std::string>& texts, const std::vector<std::string>& seeds,
                             int limit) {
    Vocabulary v;
    v.add_bytes();
    for (const std::string& seed : seeds) {
        const auto letters = letters_of(to_printable(seed));
        std::string left = letters.front();
        for (std::size_t i = 1; i < letters.size(); ++i) {
            v.add_merge(left, letters[i]);
            left += letters[i];
        }
    }
    std::map<std::string, long> counts;
    for (const std::string& text : texts)
        for (const std::string_view word : split_words(text)) ++counts[std::string(word)];
    std::vector<std::pair<std::vector<std::string>, long>> words;
    for (const auto& [word, count] : counts) words.emplace_back(v.split_word(to_printable(word)), count);
    while (v.size() < limit) {
        std::map<std::pair<std::string, std::string>, long> pairs;
        for (const auto& [parts, count] : words)
            for (std::size_t i = 0; i + 1 < parts.size(); ++i) pairs[{parts[i], parts[i + 1]}] += count;
        if (pairs.empty()) break;
        const auto best =
            std::ranges::max_element(pairs, [](const auto& a, const auto& b) { return a.second < b.second; });
        const auto [left, right] = best->first;
        v.add_merge(left, right);
        for (auto& [parts, count] : words) merge_pair(parts, left, right);
    }
    return v;
}

Vocabulary Vocabulary::load(std::vector<std::string> tokens, std::vector<std::string> merges) {
    Vocabulary v;
    for (const std::string& token : tokens) v.add_token(token);
    for (const std::string& merge : merges) {
        const std::size_t space = merge.find(' ');
        v.add_merge(merge.substr(0, space), merge.substr(space + 1));
    }
    return v;
}

std::vector<std::string> Vocabulary::split_word(std::string_view printable) const {
    std::vector<std::string> parts = letters_of(printable);
    while (parts.size() > 1) {
        int best = -1;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const auto rank = ranks_.find({parts[i], parts[i + 1]});
            if (rank != ranks_.end() && (best < 0 || rank->second < best)) {
                best = rank->second;
                at = i;
            }
        }
        if (best < 0) break;
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return parts;
}

std::vector<int> Vocabulary::encode(std::string_view text) const {
    std::vector<int> ids;
    for (const std::string_view word : split_words(text))
        for (const std::string& part : split_word(to_printable(word))) ids.push_back(ids_.at(part));
    return ids;
}

std::string Vocabulary::decode(const std::vector<int>& ids) const {
    std::map<std::string, char> bytes;
    for (int b = 0; b < 256; ++b)
        bytes[printable_bytes()[static_cast<std::size_t>(b)]] = static_cast<char>(b);
    std::string out;
    for (const int id : ids) {
        if (id < kSpecials) continue;
        for (const std::string& letter : letters_of(tokens_[static_cast<std::size_t>(id)]))
            out += bytes[letter];
    }
    return out;
}

}  // namespace clasp::training
