// Attention between the frames of a clip: every place looks at itself in all frames. Rows lie frame after
// frame, so that the rows of one place are `places` apart; sequences are too short for products of a library.
#pragma once

#include "nn/arena.h"
#include "nn/attention.h"

namespace clasp::training {

struct FrameLayout {
    int clips = 0;
    int frames = 0;
    int places = 0;  // rows per frame

    int rows() const { return clips * frames * places; }
};

// qkv: rows of [q, k, v]; out: rows of `width`. Returns the probabilities for the backward pass, in the
// arena: per clip, place and head a matrix of frames x frames.
float* frame_attention(const float* qkv, float* out, const FrameLayout& layout, const AttentionShape& shape,
                       Arena& arena);

// d_qkv is overwritten.
void frame_attention_backward(const float* qkv, const float* probabilities, const float* d_out, float* d_qkv,
                              const FrameLayout& layout, const AttentionShape& shape);

}  // namespace clasp::training
