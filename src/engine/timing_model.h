// How long prompts take on this machine, learned from those that were read: a fixed part and a part per
// token.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>

#include "clasp/engine.h"

namespace clasp::engine {

// Milliseconds.
struct TimingFigures {
    double per_prompt = 0.0;       // of reading, whatever its length
    double per_token = 0.0;        // of reading, for each token per layer on average
    std::optional<double> encode;  // of a picture that had to be encoded, on average
    std::size_t n_prompts = 0;     // learned from

    [[nodiscard]] double reading(double tokens_per_layer) const {
        return per_prompt + per_token * tokens_per_layer;
    }
};

// Tokens per layer that an answer's prompt computed: what was there from before does not count.
double tokens_computed(const Answer& answer, std::size_t n_layers);

// Thread safe.
class TimingModel {
   public:
    // A prompt of so many tokens per layer was read in so many milliseconds.
    void learn_reading(double tokens_per_layer, double ms);
    void learn_encoding(double ms);

    // Nothing before the first prompt. The line through what was learned, later prompts counting more;
    // without a fixed part as long as all prompts were of about one length, or if it would be below zero.
    [[nodiscard]] std::optional<TimingFigures> figures() const;

   private:
    mutable std::mutex mutex_;
    // Sums over prompts, each with its weight: 1, tokens, their squares, milliseconds, both multiplied.
    double n_ = 0.0;
    double t_ = 0.0;
    double tt_ = 0.0;
    double ms_ = 0.0;
    double tms_ = 0.0;
    std::size_t n_prompts_ = 0;
    std::optional<double> encode_;
};

}  // namespace clasp::engine
