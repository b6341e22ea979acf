#include "train/stray_words.h"

#include <array>
#include <string>
#include <string_view>

namespace clasp::training {

namespace {

constexpr std::array<std::string_view, 22> kWords = {
    "the", "this", "that",  "is", "are",  "does", "do", "can",  "you",     "see",  "show",
    "of",  "in",   "there", "it", "here", "what", "a",  "give", "picture", "name", "which"};
constexpr int kMost = 3;

constexpr float kAtTheEnd = 0.35F;

// Where a word may go: at a space, or before the mark at the end, which wordings differ in most.
std::size_t choose_place(const std::string& text, world::Random& rng) {
    if (rng.chance(kAtTheEnd)) return text.size() - 1;
    int n_places = 1;
    for (const char c : text) n_places += c == ' ' ? 1 : 0;
    int chosen = rng.below(n_places);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ' ' && chosen-- == 0) return i;
    }
    return text.size() - 1;
}

}  // namespace

void add_stray_words(world::Question& question, world::Random& rng) {
    const int count = 1 + rng.below(kMost);
    for (int i = 0; i < count && !question.text.empty(); ++i) {
        const auto pick = static_cast<std::size_t>(rng.below(static_cast<int>(kWords.size())));
        const std::string word = " " + std::string(kWords[pick]);
        const std::size_t place = choose_place(question.text, rng);
        question.text.insert(place, word);
        for (world::Mention& mention : question.mentions) {
            if (mention.end > place) mention.end += word.size();
        }
    }
}

}  // namespace clasp::training
