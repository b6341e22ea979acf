// What methods can ask for and what their hooks see. Views are borrowed for the call; what a method did not
// ask for is empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clasp/grid.h"
#include "clasp/schedule.h"
#include "clasp/select.h"
#include "clasp/thread_pool.h"
#include "methods/stage_signals.h"

namespace clasp::methods {

// ---- Needs ----

// Blocks are counted from 0; lists rise. The tower stops after the highest block that anything needs.
struct EncoderNeeds {
    std::vector<std::size_t> layers;           // whose outputs
    std::vector<std::size_t> class_attention;  // whose attention row of the class token, per head
    std::vector<std::size_t> class_query;      // whose query vector of the class token
    std::vector<std::size_t> keys;             // whose keys
    bool gram = false;                         // cosines of the projected tokens
    bool text = false;                         // the decoder's embeddings of the user's words
    // Inside the encoder: what inside_encoder() gets at each of its blocks.
    bool block_keys = false;
    bool block_logits = false;
    bool block_hidden = false;
};

// ---- Inside the encoder ----

// One block, between its attention and its feed-forward part. Row 0 is the class token if there is one.
struct BlockInput {
    std::size_t image = 0;
    std::size_t block = 0;
    Grid grid;
    std::size_t keep = 0;  // tokens of this image that are to enter the decoder
    bool has_class_token = true;
    std::size_t n_rows = 0;
    std::size_t n_heads = 0;
    FeatureView keys;               // n_rows x width, heads one after the other
    std::span<const float> logits;  // n_rows x n_rows, scaled, mean over heads
    FeatureView hidden;             // n_rows x width
    std::span<const float> sizes;   // patches that each row stands for
    std::span<const std::vector<TokenIndex>>
        members;  // per row: its patches, rising; empty for the class token
    ThreadPool* pool = nullptr;
};

// ---- Before the decoder ----

struct BlockValues {
    std::size_t block = 0;
    FeatureView rows;
};

// A picture that the encoder sees as an overview of the whole and as tiles.
struct TileParts {
    static constexpr std::size_t kOverview = static_cast<std::size_t>(-1);

    Grid tiles;                            // rows and columns of tiles
    Grid overview;                         // its patches; their rows are in reading order
    std::span<const std::size_t> tile_of;  // per row: its tile, counted row by row, or kOverview
};

// After the encoder `features` are what the projector takes; after the projector they are its output.
// Rows are patches in reading order, unless the encoder merged some.
struct ImageInput {
    std::size_t image = 0;
    Grid grid;
    const TileParts* parts = nullptr;  // null: the encoder sees it otherwise
    std::size_t keep = 0;              // output tokens wanted, at least 1 and below features.rows
    std::size_t n_heads = 0;           // of the encoder
    FeatureView features;
    const float* class_row = nullptr;                  // the class token's feature; after the encoder only
    std::span<const std::vector<TokenIndex>> members;  // per row: its patches; empty unless merged inside
    std::span<const BlockValues> layers;               // n x width
    std::span<const BlockValues> class_attention;  // heads x (n + 1) probabilities, column 0 the class token
    std::span<const BlockValues> class_query;      // 1 x width
    std::span<const BlockValues> keys;             // (n + 1) x width, row 0 the class token
    GramView gram;                                 // after the projector only
    FeatureView text;                              // embeddings of the user's words
    ThreadPool* pool = nullptr;
};

// The rows of a block that was asked for.
const FeatureView& values_of(std::span<const BlockValues> values, std::size_t block);

// ---- At a decoder stage ----

// The tokens of one image. Token indices count that image's tokens as they entered the decoder.
struct StageInput {
    std::size_t image = 0;
    std::uint64_t picture = 0;  // a number that stands for its pixels, for methods that draw
    std::size_t stage = 0;      // number in Program::stages
    std::size_t layer = 0;
    std::size_t n_layers = 0;
    Grid grid;
    std::span<const TokenIndex> live;    // in their order; never empty
    std::span<const TokenIndex> places;  // per token that entered: its patch, or kClassToken
    std::size_t keep = 0;                // tokens to keep, below live.size()
    std::size_t n_entered = 0;           // tokens of this image that entered the decoder
    std::size_t n_heads = 0;             // of the decoder
    StageSignals seen;                   // of the live tokens
    StageSignals text;                   // of the text after the last image, if the stage needs it
    // Of a stage that needs cosines: the matrix, n_entered x n_entered, or of many tokens (kMaxGramTokens)
    // the tokens themselves, n_entered x width.
    GramView gram;
    FeatureView features;
    double split = 0.0;
    std::uint32_t iterations = 5;
    std::uint64_t seed = 0;
    ThreadPool* pool = nullptr;
};

}  // namespace clasp::methods
