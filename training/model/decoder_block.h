// One block of the decoder: LLaMA's RMSNorm, rotary attention and SwiGLU.
#pragma once

#include "model/shape.h"
#include "nn/attention.h"
#include "nn/linear.h"

namespace clasp::training {

class DecoderBlock {
   public:
    struct Tape {
        const float* in = nullptr;
        float *norm1 = nullptr, *stats1 = nullptr, *qkv = nullptr, *attended = nullptr;
        float* kept_attended = nullptr;
        float *middle = nullptr, *norm2 = nullptr, *stats2 = nullptr;
        float *gate_up = nullptr, *active = nullptr;
        AttentionTape attention;
    };

    DecoderBlock(ParamStore& store, const std::string& prefix, const ModelShape& shape, float gain);

    // `positions` gives the rotary position of every row. With `needed` not empty only those rows come
    // out (the last block serves the rows that predict an answer, and most of its work is saved).
    float* forward(const ParamStore& store, const float* in, std::span<const int> positions,
                   std::span<const Sequence> sequences, std::span<const int> needed, Tape& tape,
                   Arena& arena) const;

    // Returns the gradient of the input; `gradient`, that of the output, is destroyed.
    float* backward(ParamStore& store, float* gradient, std::span<const int> positions,
                    std::span<const Sequence> sequences, std::span<const int> needed, const Tape& tape,
                    Arena& arena) const;

    static constexpr const char* kOutputs[] = {".attn_output", ".ffn_down"};

   private:
    AttentionShape attention_;
    int ffn_;
    ParamId norm1_w_, norm2_w_;
    Linear qkv_, out_, gate_up_, down_;
};

}  // namespace clasp::training
