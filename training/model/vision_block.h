// One block of the vision tower: CLIP's pre-norm transformer block.
#pragma once

#include <optional>

#include "model/shape.h"
#include "model/temporal_part.h"
#include "nn/attention.h"
#include "nn/linear.h"

namespace clasp::training {

class VisionBlock {
   public:
    // Activations that the backward pass needs; they live in the arena.
    struct Tape {
        const float* in = nullptr;
        float *norm1 = nullptr, *stats1 = nullptr, *qkv = nullptr, *attended = nullptr;
        float *middle = nullptr, *norm2 = nullptr, *stats2 = nullptr;
        float *hidden = nullptr, *active = nullptr;
        AttentionTape attention;
        TemporalPart::Tape temporal;
    };

    // Block `number` of the tower.
    VisionBlock(ParamStore& store, int number, const ModelShape& shape, float gain);

    // Returns the block's output: rows x width, in the arena. The temporal part takes part if the rows are
    // those of clips (layout.frames above 1).
    float* forward(const ParamStore& store, const float* in, int rows, std::span<const Sequence> sequences,
                   const FrameLayout& layout, Tape& tape, Arena& arena) const;

    // Turns the gradient of the output into that of the input, in place.
    void backward(ParamStore& store, float* gradient, int rows, std::span<const Sequence> sequences,
                  const FrameLayout& layout, const Tape& tape, Arena& arena) const;

    // The layers whose output is added to the stream; growing sets them to zero.
    static constexpr const char* kOutputs[] = {".attn_out", ".fc2", ".t_attn_out", ".t_embd"};

   private:
    AttentionShape attention_;
    int ffn_;
    ParamId ln1_w_, ln1_b_, ln2_w_, ln2_b_;
    Linear qkv_, out_, fc1_, fc2_;
    std::optional<TemporalPart> temporal_;
};

}  // namespace clasp::training
