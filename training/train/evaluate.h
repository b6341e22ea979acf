// Accuracy of a model on scenes it has not seen, by the trainer's own forward pass.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "model/model.h"
#include "text/bpe.h"
#include "world/questions.h"

namespace clasp::training {

struct EvaluationPlan {
    world::Split split = world::Split::Test;
    std::uint64_t seed = 1;
    int first = 0;  // index of the first scene
    int scenes = 0;
    int questions_per_scene = 1;
    int side = world::kFullSide;
    int frames = 1;       // 8: clips
    int only_frame = -1;  // BatchPlan's
    // Wrong answers in words, which takes several times as long as knowing that they are wrong.
    bool wants_text = true;
};

// One answered question. Numbers run as in write_scenes with the same seed and counts, if every scene has as
// many questions as were asked for.
struct Prediction {
    int question_id = 0;
    const world::Question* question = nullptr;
    int group = 0;     // the question's class, or its form if it is about a clip
    std::string text;  // the greedy answer; empty if it is wrong and nobody wants to know
    bool correct = false;
};

// By class, or by form of questions about clips.
struct Accuracy {
    std::array<int, world::kClasses> hits{}, trials{};
};

Accuracy evaluate(Model& model, const Vocabulary& vocabulary, const EvaluationPlan& plan,
                  const std::function<void(const Prediction&)>& each);

}  // namespace clasp::training
