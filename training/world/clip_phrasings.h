// Wordings of the questions about moving scenes. {x} is a thing, {y} what happens.
#pragma once

#include "world/clip_questions.h"
#include "world/phrasings.h"

namespace clasp::world {

Phrasings phrasings_of(ClipForm form);

}  // namespace clasp::world
