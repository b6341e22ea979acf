// The vision tower: CLIP's ViT with a class token first and learned positions.
#pragma once

#include <vector>

#include "model/vision_block.h"

namespace clasp::training {

// Pictures of one size, cut into patches, or the frames of clips.
struct PictureBatch {
    int pictures = 0;            // all frames of clips, one clip after another
    int frames = 1;              // per clip
    int side = 0;                // patches per side
    std::vector<float> patches;  // pictures * side * side rows of 588 normalised values (c, y, x)
    std::vector<int> first_row;  // where each picture sits in the position table
    std::vector<int> first_column;

    FrameLayout layout() const { return {pictures / frames, frames, side * side + 1}; }
};

class VisionTower {
   public:
    struct Tape {
        int rows = 0;
        std::vector<Sequence> sequences;
        float* summed = nullptr;  // patch embeddings + positions
        float* stats = nullptr;
        std::vector<VisionBlock::Tape> blocks;
    };

    VisionTower(ParamStore& store, const ModelShape& shape);

    // Output of the last block: per picture one class row, then side * side patch rows.
    float* forward(const ParamStore& store, const PictureBatch& batch, Tape& tape, Arena& arena) const;
    // `gradient` is that of the output; it is destroyed.
    void backward(ParamStore& store, const PictureBatch& batch, float* gradient, Tape& tape,
                  Arena& arena) const;

   private:
    ModelShape shape_;
    ParamId patch_w_, class_, position_, pre_w_, pre_b_;
    std::vector<VisionBlock> blocks_;
};

}  // namespace clasp::training
