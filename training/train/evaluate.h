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
    int scenes = 0;
    int questions_per_scene = 1;
    int side = world::kFullSide;
};

// One answered question. Numbers run as in write_scenes with the same seed and counts.
struct Prediction {
    int question_id = 0;
    const world::Question* question = nullptr;
    std::string text;  // the greedy answer
    bool correct = false;
};

struct Accuracy {
    std::array<int, world::kClasses> hits{}, trials{};
};

Accuracy evaluate(Model& model, const Vocabulary& vocabulary, const EvaluationPlan& plan,
                  const std::function<void(const Prediction&)>& each);

}  // namespace clasp::training
