// Wordings of the questions. {x} and {y} are slots.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "world/questions.h"

namespace clasp::world {

struct Phrasings {
    std::span<const std::string_view> common;     // all splits
    std::span<const std::string_view> test_only;  // never in train or calibrate
};

Phrasings phrasings_of(Template form);

// Replaces the slots.
std::string fill_slots(std::string_view phrase, std::string_view x, std::string_view y);

}  // namespace clasp::world
