// Questions about a moving scene that no single frame answers.
#pragma once

#include "world/clip.h"
#include "world/questions.h"

namespace clasp::world {

enum class ClipForm : std::uint8_t {
    WhatHappens,   // what does the star do: one of eight
    WhichWay,      // left, right, up, down
    WhichOne,      // which shape vanishes
    FirstOrLast,   // which shape appears first
    HowOften,      // how many times does the star blink: 0 to 3
    ColourAfter,   // which colour does the star turn
    ColourBefore,  // which colour was it at first
    HowManyDo,     // how many shapes move: 0 to 3
    Still,         // colour or place, which one frame tells; only training has it
};
inline constexpr int kClipForms = 8;  // without Still

std::string_view name(ClipForm form);
int class_of(ClipForm form);  // the paper's

struct ClipQuestion {
    ClipForm form = ClipForm::WhatHappens;
    Question said;  // `form` of it means nothing; items of mentions are actors
};

std::optional<ClipQuestion> ask_about_clip(const Clip& clip, ClipForm form, Random& rng);

// `count` different questions: the first is the clip's own, of form index % kClipForms, the others of random
// forms, weighted by `weights` (one per form, Still last). Deterministic in the clip.
using ClipWeights = std::array<float, kClipForms + 1>;
std::vector<ClipQuestion> ask_about_clip(const Clip& clip, int count, const ClipWeights* weights = nullptr);

}  // namespace clasp::world
