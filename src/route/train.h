// Fits the classifier: multinomial logistic regression with dropout of features. A line that only
// names its class teaches the sum over that class's intents. The same examples in the same order and the
// same options give the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "route/features.h"
#include "route/model.h"

namespace clasp::route {

struct TrainOptions {
    int epochs = 12;
    float learning_rate = 0.2f;
    float decay = 2e-5f;          // of every weight per step in which it takes part
    float word_dropout = 0.35f;   // share of word and piece features hidden from a step
    float frame_dropout = 0.15f;  // share of class and frame features hidden from a step
    float smoothing = 0.02f;      // probability mass moved from the label to all intents
    float balance = 0.2f;         // 0: every line counts the same; 1: every benchmark does
    std::uint32_t min_count = 3;  // features seen in fewer lines are dropped
    std::size_t max_features = 40000;
    int rounds = 2;  // runs with other random numbers whose weights are averaged
    std::uint64_t seed = 1;
};

struct Example {
    std::vector<Feature> features;
    std::vector<bool> allowed;  // per intent: may be the right one
    float weight = 1.0f;
};

// InvalidArgument if there are no examples or an example allows no intent.
Result<Model> train(std::span<const Example> examples, const std::vector<std::string>& intent_names,
                    const TrainOptions& options);

}  // namespace clasp::route
