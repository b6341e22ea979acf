#include "world/clip_phrasings.h"

#include <array>

namespace clasp::world {
namespace {

struct ClipEntry {
    std::array<std::string_view, 5> common;
    std::array<std::string_view, 2> test_only;
    std::array<std::string_view, 6> train_only;
};

// Test-only wordings use words that other wordings teach.
constexpr ClipEntry kClipEntries[kClipForms] = {
    // WhatHappens
    {{"What happens to the {x}?", "What does the {x} do?", "Which change does the {x} show?",
      "What is the {x} doing in the clip?"},
     {"What happens to the {x} in the clip?", "What is the {x} doing?"},
     {"Tell me what happens to the {x}.", "What do you see the {x} doing?", "Say what the {x} does.",
      "How does the {x} change?", "What becomes of the {x} here?"}},
    // WhichWay
    {{"Which way does the {x} move?", "In which direction does the {x} move?",
      "Does the {x} move left, right, up or down?", "Name the direction of the {x}."},
     {"In which direction is the {x} going?", "What is the direction of the {x}?"},
     {"Tell me which way the {x} moves.", "Where is the {x} going?", "What direction does the {x} take?",
      "Left, right, up or down: which way does the {x} go?", "Say in which direction the {x} moves."}},
    // WhichOne
    {{"Which shape {y}?", "Name the shape that {y}.", "What is the shape that {y}?",
      "Which of the shapes {y}?"},
     {"Which is the shape that {y}?", "Which is the shape that {y} in the clip?"},
     {"Tell me which shape {y}.", "One shape {y}; which one?", "Say which of the shapes {y}.",
      "In the clip, which shape {y}?", "What kind of shape {y} here?"}},
    // FirstOrLast
    {{"Which shape {y}?", "Which of the shapes {y}?", "Name the shape that {y}.",
      "What is the shape that {y}?"},
     {"Which is the shape that {y}?", "Which is the shape that {y} in the clip?"},
     {"Tell me which shape {y}.", "Of several shapes, which {y}?", "Say which of the shapes {y}.",
      "In the clip, which shape {y}?", "Some shapes do it; which {y}?"}},
    // HowOften
    {{"How many times does the {x} blink?", "How often does the {x} blink?", "Count the blinks of the {x}.",
      "What is the number of blinks of the {x}?"},
     {"How many blinks does the {x} show?", "How often does the {x} blink in the clip?"},
     {"Tell me how often the {x} blinks.", "How many blinks of the {x} do you see?",
      "Please count how many times the {x} blinks.", "Number of blinks of the {x}?",
      "Say how many times the {x} blinks in the clip."}},
    // ColourAfter
    {{"What colour does the {x} turn?", "Which colour does the {x} have at the end?",
      "What is the last colour of the {x}?", "Name the new colour of the {x}."},
     {"What colour does the {x} have at the end?", "Which is the new colour of the {x}?"},
     {"Tell me the new colour of the {x}.", "What color is the {x} in the end?",
      "Into which colour does the {x} change?", "In the end, which colour is the {x}?",
      "Say which colour the {x} turns."}},
    // ColourBefore
    {{"What colour was the {x} at first?", "Which colour does the {x} have at the start?",
      "What is the first colour of the {x}?", "Name the old colour of the {x}."},
     {"What colour does the {x} have at the start?", "Which is the old colour of the {x}?"},
     {"Tell me the old colour of the {x}.", "What color is the {x} at the beginning?",
      "From which colour does the {x} change?", "At first, which colour was the {x}?",
      "Say which colour the {x} had before."}},
    // HowManyDo
    {{"How many shapes {y}?", "Count the shapes that {y}.", "What is the number of shapes that {y}?",
      "How many of the shapes {y}?"},
     {"How many of the shapes {y} in the clip?", "How many shapes {y} in the clip?"},
     {"Tell me how many shapes {y}.", "Please count all shapes that {y}.", "Number of shapes that {y}?",
      "How many shapes do you see that {y}?", "Of all the shapes, how many {y}?"}},
};

template <std::size_t n>
std::span<const std::string_view> filled(const std::array<std::string_view, n>& all) {
    std::size_t count = 0;
    while (count < n && !all[count].empty()) ++count;
    return {all.data(), count};
}

}  // namespace

Phrasings phrasings_of(ClipForm form) {
    const ClipEntry& entry = kClipEntries[static_cast<std::size_t>(form)];
    return {filled(entry.common), filled(entry.test_only), filled(entry.train_only)};
}

}  // namespace clasp::world
