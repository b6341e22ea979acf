// The logits that a graph gave, one row per sequence.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "ggml.h"

namespace clasp::engine {

// A row per sequence, in the order of the call; valid until the next call of the executor that gave it.
class LogitRows {
   public:
    LogitRows(std::span<const float> values, std::size_t vocabulary)
        : values_(values), vocabulary_(vocabulary) {}

    [[nodiscard]] std::size_t size() const { return values_.size() / vocabulary_; }
    [[nodiscard]] std::span<const float> operator[](std::size_t i) const {
        return values_.subspan(i * vocabulary_, vocabulary_);
    }

   private:
    std::span<const float> values_;
    std::size_t vocabulary_;
};

// Reads [vocabulary, n] of a graph that ran. Corrupt when a value is not a number.
Status read_logits(const ggml_tensor* tensor, std::vector<float>& values);

}  // namespace clasp::engine
