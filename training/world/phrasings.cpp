#include "world/phrasings.h"

#include <array>

namespace clasp::world {
namespace {

struct Entry {
    std::array<std::string_view, 5> common;
    std::array<std::string_view, 2> test_only;
    std::array<std::string_view, 8> train_only;
};

// Test-only wordings use words that other wordings teach. Train-only ones are there so that the model learns
// to make little of how something is asked; they came late, so that the tests' questions stayed what they
// were.
constexpr Entry kEntries[kTemplates] = {
    // ShapeThatIs
    {{"What is the {x} shape?", "Which shape is {x}?", "Name the {x} shape.", "What shape is {x}?"},
     {"Which {x} shape is there?", "What is the name of the {x} shape?"},
     {"Tell me which shape is {x}.", "One shape is {x}; which one?", "What kind of shape is {x} here?",
      "Which of the shapes is {x}?"}},
    // ToolName
    {{"What is the name of the {x}?", "Name the {x}.", "Which object is the {x}?", "What is the {x}?"},
     {"Give the name of the {x}.", "Which object is the {x} in the picture?"},
     {"What do you call the {x}?", "Tell me what the {x} is.", "What kind of object is the {x}?",
      "What is the {x} called?"}},
    // IsThere
    {{"Is there a {x}?", "Can you see a {x}?", "Does the picture show a {x}?",
      "Is there a {x} in the picture?"},
     {"Can you see a {x} in the picture?", "Does this picture show a {x}?"},
     {"Is a {x} in this image?", "Do you see any {x} here?", "Is a {x} visible?",
      "Tell me if there is a {x}.", "Does this image contain a {x}?"}},
    // ColourOf
    {{"What colour is the {x}?", "What color is the {x}?", "Which colour does the {x} have?",
      "Name the colour of the {x}."},
     {"What is the colour of the {x}?", "Which colour is the {x}?"},
     {"Tell me the colour of the {x}.", "The {x} is of which colour?", "What color does the {x} have?",
      "In which colour is the {x} painted?"}},
    // SizeOf
    {{"What size is the {x}?", "Is the {x} small or large?", "How big is the {x}?",
      "Which size does the {x} have?"},
     {"Is the {x} large or small?", "What is the size of the {x}?"},
     {"Tell me the size of the {x}.", "Would you call the {x} small or large?",
      "Is the {x} a small one or a large one?", "How large is the {x} in this image?"}},
    // PatternOf
    {{"What pattern does the {x} have?", "What is the pattern of the {x}?",
      "Is the {x} plain, striped or dotted?", "Name the pattern of the {x}."},
     {"Which pattern does the {x} have?", "What pattern is on the {x}?"},
     {"Tell me the pattern of the {x}.", "Is the {x} striped, dotted or plain?",
      "What kind of pattern is the {x} painted with?", "How is the {x} filled, plain, striped or dotted?"}},
    // ReadSign
    {{"What does the {x} say?", "What is written on the {x}?", "Read the {x}.", "What text is on the {x}?"},
     {"Which text is written on the {x}?", "Read the text on the {x}."},
     {"Tell me what the {x} says.", "What can one read on the {x}?", "Please read what is on the {x}.",
      "Which letters and digits are on the {x}?", "What are the characters on the {x}?"}},
    // CharacterOnSign
    {{"What is the {y} character on the {x}?", "Which character is {y} on the {x}?",
      "Read the {y} character of the {x}."},
     {"Name the {y} character on the {x}.", "What is the {y} character of the {x}?"},
     {"Tell me the {y} character on the {x}.", "On the {x}, which character comes {y}?",
      "What stands {y} on the {x}?", "Please give the {y} character that the {x} shows."}},
    // WhichPlace
    {{"Where is this?", "What place is this?", "Which place is shown in the picture?",
      "Where was this picture taken?"},
     {"What place does the picture show?", "Which place is this?"},
     {"Tell me where this is.", "What kind of place do you see?", "Where are we here?",
      "In which place was this image made?", "What is the place in this image?", "Name the place."}},
    // InTheSky
    {{"What is in the sky?", "What can you see in the sky?", "What does the sky show?"},
     {"What is shown in the sky?", "Name what is in the sky."},
     {"Tell me what the sky shows.", "What do you see up in the sky?", "Look at the sky: what is there?",
      "What is up there in the sky?", "Which thing is in the sky?"}},
    // DayOrNight
    {{"Is it day or night?", "Is this day or night?", "Was this picture taken at day or night?"},
     {"Is it night or day?", "Does the picture show day or night?"},
     {"Tell me if it is day or night.", "Do we see this place by day or by night?", "Day or night?",
      "At what time was this image made, day or night?"}},
    // LeftOrRight
    {{"Is the {x} left or right of the {y}?", "Is the {x} to the left or right of the {y}?",
      "On which side of the {y} is the {x}, left or right?"},
     {"Is the {x} to the right or left of the {y}?", "Where is the {x}, left or right of the {y}?"},
     {"Tell me if the {x} is left or right of the {y}.", "Left or right of the {y}: where is the {x}?",
      "Seen from the {y}, is the {x} left or right?", "Does the {x} stand left or right of the {y}?"}},
    // AboveOrBelow
    {{"Is the {x} above or below the {y}?", "Does the {x} lie above or below the {y}?",
      "Where is the {x}, above or below the {y}?"},
     {"Is the {x} below or above the {y}?", "On which side of the {y} is the {x}, above or below?"},
     {"Tell me if the {x} is above or below the {y}.", "Above or below the {y}: where is the {x}?",
      "Seen from the {y}, is the {x} above or below?", "Does the {x} stand above or below the {y}?"}},
    // HowMany
    {{"How many {x} are there?", "Count the {x}.", "What is the number of {x}?",
      "How many {x} are in the picture?"},
     {"How many {x} can you see?", "How many {x} does the picture show?"},
     {"Tell me how many {x} there are.", "What is the count of {x}?", "How many {x} do you see here?",
      "Please count all {x} in this image.", "How many {x} can one find?", "Number of {x}?",
      "How many {x} does this image have?", "Give the number of {x} that you see."}},
    // WhatDoing
    {{"What is the {x} doing?", "What does the {x} do?", "Which action does the {x} show?",
      "Name the action of the {x}."},
     {"What action is the {x} doing?", "What is the action of the {x}?"},
     {"Tell me what the {x} is doing.", "What do you see the {x} doing?", "How does the {x} move or rest?",
      "What is the {x} busy with?"}},
    // IsDoing
    {{"Is the {x} {y}?", "Can you see the {x} {y}?", "Does the picture show the {x} {y}?"},
     {"Is the {x} {y} in the picture?", "Is the {x} shown {y}?"},
     {"Tell me if the {x} is {y}.", "Do you see the {x} {y}?", "Would you say the {x} is {y}?",
      "Is it true that the {x} is {y}?"}},
    // WhatFor
    {{"What is the {x} used for?", "What can you use the {x} for?", "What is the purpose of the {x}?",
      "What does one do with the {x}?"},
     {"What is the {x} for?", "Which purpose does the {x} have?"},
     {"Tell me what the {x} is used for.", "What do people do with the {x}?",
      "For what would you take the {x}?", "What is the {x} good for?", "What is the {x} made for?"}},
    // IsFor
    {{"Is the {x} used for {y}?", "Can you use the {x} for {y}?", "Is the {x} made for {y}?"},
     {"Is the {x} for {y}?", "Is {y} the purpose of the {x}?"},
     {"Tell me if the {x} is used for {y}.", "Would you take the {x} for {y}?", "Is the {x} good for {y}?",
      "Do people use the {x} for {y}?"}},
    // Describe
    {{"Describe the picture.", "Describe this picture in a few words.",
      "Give a short description of the picture.", "What does the picture show?"},
     {"Give a description of this picture.", "Describe what you can see."},
     {"Tell me what you see.", "What do you see here?", "Say in short what is in this image.",
      "Please describe this image.", "Sum up the picture in one sentence."}},
    // PlaceAndAction
    {{"Where is the {x} and what is the {x} doing?", "Name the place and the action of the {x}."},
     {"Where is the {x} and which action does the {x} show?", "What is the place and the action of the {x}?"},
     {"Tell me the place and what the {x} is doing.", "In which place is the {x}, and what does the {x} do?",
      "Say where the {x} is and what the {x} does.", "Which place is this and what is the {x} doing?"}},
    // ColourAndPurpose
    {{"What colour is the {x} and what is it used for?", "Name the colour and the purpose of the {x}."},
     {"Which colour is the {x} and what is it for?", "What is the colour and the purpose of the {x}?"},
     {"Tell me the colour of the {x} and what it is used for.",
      "Which colour does the {x} have and what can you do with it?",
      "Say the colour and the use of the {x}."}},
    // PlaceAndSign
    {{"Where is this and what does the {x} say?", "Name the place and read the {x}."},
     {"What place is this and what is written on the {x}?", "Where is this and what text is on the {x}?"},
     {"Tell me the place and what the {x} says.", "Which place is this, and what does one read on the {x}?",
      "Say where this is and read the {x}."}},
    // ColourAndSize
    {{"What colour and size is the {x}?", "Name the colour and the size of the {x}."},
     {"Which colour and size does the {x} have?", "What is the colour and the size of the {x}?"},
     {"Tell me the colour and the size of the {x}.", "How big is the {x} and what colour is it?",
      "Say which colour and which size the {x} has."}},
};

template <std::size_t n>
std::span<const std::string_view> used(const std::array<std::string_view, n>& all) {
    std::size_t count = 0;
    while (count < n && !all[count].empty()) ++count;
    return {all.data(), count};
}

}  // namespace

Phrasings phrasings_of(Template form) {
    const Entry& entry = kEntries[static_cast<std::size_t>(form)];
    return {used(entry.common), used(entry.test_only), used(entry.train_only)};
}

std::string fill_slots(std::string_view phrase, std::string_view x, std::string_view y,
                       std::vector<SlotEnd>* ends) {
    std::string out;
    for (std::size_t i = 0; i < phrase.size(); ++i) {
        if (phrase[i] == '{') {
            const std::string_view word = phrase[i + 1] == 'x' ? x : y;
            if (out.ends_with(" a ") && word.starts_with('o')) {
                out.pop_back();
                out += "n ";
            }
            out += word;
            if (ends != nullptr) ends->push_back({phrase[i + 1], out.size()});
            i += 2;
        } else {
            out += phrase[i];
        }
    }
    return out;
}

}  // namespace clasp::world
