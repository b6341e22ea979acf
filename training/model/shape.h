// Widths and depths of the model.
#pragma once

namespace clasp::training {

struct ModelShape {
    int width = 128;  // vision tower and decoder alike
    int heads = 4;    // of width 32
    int vision_ffn = 384;
    int decoder_ffn = 352;
    int vision_blocks = 12;  // grown to 23: blocks 0..22 of a 24-block tower
    int decoder_blocks = 8;  // grown to 16
    int vocabulary = 0;
    int grid = 24;   // side of the position table
    int frames = 1;  // 8: the tower has temporal parts too, for clips of so many frames

    bool operator==(const ModelShape&) const = default;
};

// The decoder's first blocks keep their places when it grows.
inline constexpr int kLeadingBlocks = 2;

inline constexpr float kVisionEpsilon = 1e-5F;
inline constexpr float kDecoderEpsilon = 1e-5F;
inline constexpr int kPatchValues = 14 * 14 * 3;

}  // namespace clasp::training
