// Noise in the wording of training questions.
#pragma once

#include "world/questions.h"
#include "world/random.h"

namespace clasp::training {

// Puts one to three words that carry no meaning ("the", "you", "here" ...) into the question, anywhere
// between its words or before its last mark, and moves the ends of its mentions along. A model that has only
// seen four wordings of a question otherwise takes a new one for another question.
void add_stray_words(world::Question& question, world::Random& rng);

}  // namespace clasp::training
