// Wordings of the questions. {x} and {y} are slots.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "world/questions.h"

namespace clasp::world {

struct Phrasings {
    std::span<const std::string_view> common;      // all splits
    std::span<const std::string_view> test_only;   // never in train or calibrate
    std::span<const std::string_view> train_only;  // never in test or calibrate
};

Phrasings phrasings_of(Template form);

// Where the words that filled a slot end.
struct SlotEnd {
    char slot = 'x';
    std::size_t end = 0;  // in bytes of the filled text
};

// Replaces the slots; tells where each ended up when asked.
std::string fill_slots(std::string_view phrase, std::string_view x, std::string_view y,
                       std::vector<SlotEnd>* ends = nullptr);

}  // namespace clasp::world
