// Builds the embedded model's vocabulary from questions and answers of the train split.
#include <algorithm>

#include "text/bpe.h"
#include "world/compose.h"
#include "world/questions.h"

namespace clasp::training {
namespace {

constexpr int kScenes = 4000;
constexpr int kLimit = 1024;

// Texts of signs must stay single characters, or the model would meet rare whole texts as tokens.
bool is_sign_word(std::string_view word) {
    return std::ranges::all_of(
        word, [](char c) { return world::kSignCharacters.find(c) != std::string_view::npos; });
}

std::string without_signs(const std::string& text) {
    std::string out;
    for (const std::string_view word : split_words(text)) {
        std::string_view body = word;
        if (body.starts_with(' ')) body.remove_prefix(1);
        if (body.empty() || !is_sign_word(body)) out += word;
    }
    return out;
}

}  // namespace

Vocabulary scene_vocabulary() {
    // The role words begin with pairs that no sign can show, so their merges never touch a sign.
    std::vector<std::string> seeds = {"USER", " ASSISTANT"};
    for (const char c : world::kSignCharacters) seeds.push_back(std::string(" ") + c);
    std::vector<std::string> texts;
    for (int i = 0; i < kScenes; ++i) {
        const world::Scene scene =
            world::compose_scene(world::Split::Train, 0xb9e, static_cast<std::uint64_t>(i), 16);
        for (const world::Question& q : world::ask_many(scene, 6)) {
            texts.push_back(without_signs("\n" + q.text));
            texts.push_back(without_signs(" " + q.answer));
        }
    }
    return Vocabulary::learn(texts, seeds, kLimit);
}

}  // namespace clasp::training
