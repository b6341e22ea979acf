// What Video-LLaVA's tower for clips adds to a block, before its usual halves: the frame's embedding is added
// to the stream, then every place attends to itself in all frames. Its last layer starts at zero, so that a
// tower that was trained on pictures begins with the same function up to the embedding.
#pragma once

#include <string>

#include "model/shape.h"
#include "nn/frame_attention.h"
#include "nn/linear.h"

namespace clasp::training {

class TemporalPart {
   public:
    struct Tape {
        float *middle = nullptr, *norm = nullptr, *stats = nullptr;
        float *qkv = nullptr, *attended = nullptr, *probabilities = nullptr;
    };

    // `wave` is the height of the waves that the frames' embedding starts as.
    TemporalPart(ParamStore& store, const std::string& prefix, const ModelShape& shape, float wave);

    // Returns the new stream, in the arena; `in` holds the rows of whole clips.
    float* forward(const ParamStore& store, const float* in, const FrameLayout& layout, Tape& tape,
                   Arena& arena) const;

    // Turns the gradient of the output into that of the input, in place.
    void backward(ParamStore& store, float* gradient, const FrameLayout& layout, const Tape& tape,
                  Arena& arena) const;

   private:
    AttentionShape attention_;
    ParamId embedding_, norm_w_, norm_b_;
    Linear qkv_, out_;
};

}  // namespace clasp::training
