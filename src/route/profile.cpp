#include "route/profile.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "base/utf8.h"
#include "route/hash.h"

namespace clasp::route {

namespace {

constexpr std::size_t kMinQuestions = 1000;
constexpr std::size_t kMinScript = 5;     // questions, and one in a thousand
constexpr std::size_t kMinWord = 3;       // questions that have the word
constexpr std::size_t kMinPiece = 4;      // questions that have the piece
constexpr std::size_t kPieceLength = 3;   // letters
constexpr std::size_t kLongestWord = 24;  // letters looked at

std::uint32_t short_hash(std::string_view text) {
    const std::uint64_t h = hash_bytes(text);
    return static_cast<std::uint32_t>(h ^ (h >> 32u));
}

bool is_known(const std::vector<std::uint32_t>& hashes, std::string_view text) {
    return std::binary_search(hashes.begin(), hashes.end(), short_hash(text));
}

// Calls `use` with each piece.
void for_pieces(std::string_view word, const auto& use) {
    std::array<char, kLongestWord + 2> padded{};
    const std::size_t length = std::min(word.size(), kLongestWord);
    padded[0] = '<';
    std::copy_n(word.begin(), length, padded.begin() + 1);
    padded[length + 1] = '>';
    const std::string_view text(padded.data(), length + 2);
    for (std::size_t at = 0; at + kPieceLength <= text.size(); ++at) use(text.substr(at, kPieceLength));
}

using Counts = std::unordered_map<std::uint32_t, std::size_t>;

std::vector<std::uint32_t> frequent(const Counts& counts, std::size_t least) {
    std::vector<std::uint32_t> out;
    for (const auto& [hash, count] : counts) {
        if (count >= least) out.push_back(hash);
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

Script script_of(const Word& word) {
    std::size_t at = 0;
    const auto letter = word.text.empty() ? std::nullopt : base::next_code_point(word.text, at);
    return letter ? script_of(*letter) : Script::Other;
}

LanguageProfile LanguageProfile::learn(std::span<const std::vector<Word>> questions) {
    if (questions.size() < kMinQuestions) return {};
    std::array<std::size_t, kN_Scripts> n_with_script{};
    Counts words;
    Counts pieces;
    for (const std::vector<Word>& question : questions) {
        std::set<Script> scripts;
        std::set<std::string_view> distinct;
        for (const Word& word : question) {
            if (word.kind != WordKind::Word && word.kind != WordKind::Cjk) continue;
            scripts.insert(script_of(word));
            if (word.kind == WordKind::Word) distinct.insert(word.text);
        }
        for (const Script script : scripts) ++n_with_script[static_cast<std::size_t>(script)];
        for (const std::string_view word : distinct) {
            ++words[short_hash(word)];
            for_pieces(word, [&](std::string_view piece) { ++pieces[short_hash(piece)]; });
        }
    }
    std::uint32_t scripts = 0;
    for (std::size_t i = 0; i < kN_Scripts; ++i) {
        if (n_with_script[i] >= kMinScript && 1000 * n_with_script[i] >= questions.size()) scripts |= 1u << i;
    }
    return {scripts, frequent(words, kMinWord), frequent(pieces, kMinPiece)};
}

bool LanguageProfile::knows(Script script) const {
    return is_empty() || ((scripts_ >> static_cast<unsigned>(script)) & 1u) != 0;
}

bool LanguageProfile::knows(std::string_view word) const {
    return is_empty() || is_known(words_, word);
}

LanguageProfile::Share LanguageProfile::known_pieces(const Word& word) const {
    Share share;
    for_pieces(word.text, [&](std::string_view piece) {
        ++share.n;
        if (!word.accented && is_known(pieces_, piece)) ++share.n_known;
    });
    return share;
}

}  // namespace clasp::route
