// A prompt on its way through the decoder: text tokens and visual embeddings enter, tokens are dropped
// at stages, the logits of the last token come out, and keys and values stay for generation.
//
// A stage at layer l looks at block l's own normalised input: the queries of the reference tokens
// against the keys of all live tokens give attention rows (softmax over the whole causal row, mean over
// heads, mean over reference tokens) that score the visual tokens. A selector chooses; block l and all
// later ones (StageMode::Before), or only the later ones (StageMode::After), run on what it keeps.
// Kept tokens keep their positions unless the request asks for compact ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "clasp/schedule.h"
#include "clasp/status.h"
#include "engine/live_rows.h"
#include "engine/prompt_start.h"
#include "methods/stage_signals.h"

namespace clasp::engine {

// A run of text tokens, or of visual embeddings (rows x width floats, row major), borrowed. Exactly one
// of the two is not empty.
struct PromptPart {
    std::span<const std::int32_t> tokens = {};
    std::span<const float> embeddings = {};
    // Of embeddings that lost tokens before the decoder, borrowed: each one's place among the unpruned
    // ones, how many those were, and how many each stands for. Empty: nothing was lost; every one counts 1.
    std::span<const std::int32_t> places = {};
    std::int32_t n_unpruned = 0;
    std::span<const float> masses = {};
    // Where each embedding stands, counted from the part's beginning, and how many positions the whole part
    // takes, lost tokens included; borrowed. Empty: one position after the other, by places if there are any.
    std::span<const model::Position> offsets = {};
    std::int32_t n_positions = 0;
    // Of a decoder with deepstack, borrowed: per embedding, one row after the other, what is added to the
    // output of block 0, of block 1, ...; n_deepstack x width floats each. Empty: nothing.
    std::span<const float> additions = {};
    std::int32_t n_lost_before = 0;  // tokens between this part and the one before of which none is left
    // Of an image, borrowed: per embedding, the line that it stands in, and 1 if it is carried along instead
    // of being chosen (LiveRow). Empty: no lines, all are chosen. Text of an image is always carried.
    std::span<const std::int32_t> lines = {};
    std::span<const std::uint8_t> is_carried = {};
    bool is_text_of_image = false;
};

struct PrefillStage {
    std::int32_t layer = 0;
    StageMode mode = StageMode::Before;
    methods::StageNeeds needs = {};
    // Whose attention the stage looks at, by place in the prompt as it entered. Tokens of an image only at
    // the first stage: later ones may have been dropped.
    std::vector<std::int32_t> reference = {};
};

// What a selector sees; valid during the call.
struct StageView {
    std::int32_t layer = 0;
    StageMode mode = StageMode::Before;
    std::size_t stage = 0;                  // number of the stage in the request
    std::span<const TokenIndex> live = {};  // visual indices, in order
    methods::StageSignals seen = {};        // of the live tokens; without any mass
    methods::StageSignals text = {};        // of the text after the last image, if the stage needs it
};

using StageSelector = std::function<Result<StageChoice>(const StageView& view)>;

struct PrefillRequest {
    std::span<const PromptPart> parts = {};
    std::span<const PrefillStage> stages = {};  // rising layers
    StageSelector selector = {};                // called once per stage, on the calling thread
    PositionMode positions = PositionMode::Keep;
    std::int32_t room = 0;                      // further tokens to reserve cells for
    StartStore* starts = nullptr;               // where beginnings of prompts are kept; may be null
    const std::atomic<bool>* cancel = nullptr;  // checked often; may be null
    // Decoder layers that are done, with fractions, rising; on the calling thread. May be empty.
    std::function<void(double layers)> on_layers = {};
};

struct StageResult {
    std::int32_t layer = 0;
    std::size_t n_before = 0;  // visual tokens
    std::size_t n_after = 0;
    std::size_t n_fixed_after = 0;
};

struct PrefillResult {
    std::vector<float> logits;                 // of the last token
    std::vector<std::int32_t> rows_per_layer;  // tokens that each block processed, text included
    std::vector<std::int32_t> visual_per_layer;
    std::vector<std::int32_t> fixed_per_layer;  // rows carried with them
    std::vector<StageResult> stages;
    std::size_t kv_bytes = 0;
    // What was there from before: rows that no layer computed, and rows that the layers before the first
    // stage did not compute.
    std::size_t n_prefix_found = 0;
    std::size_t n_front_found = 0;
    SharedStart front;      // the rows up to the last image before the first stage; null: nobody keeps them
    double prefill_ms = 0;  // all but the selector
    double probe_ms = 0;    // of that, looking at stages
    double select_ms = 0;   // inside the selector
};

}  // namespace clasp::engine
