// Times a block of the decoder, for first_token_model.h.
#pragma once

#include "clasp/schedule.h"
#include "engine/executor.h"
#include "engine/first_token_model.h"

namespace clasp::engine {

// Runs the first block over a few tokens, two sizes, each twice, and takes the faster times. Costs about as
// much as 160 tokens in one block.
Result<DecoderTimings> measure_decoder(const std::shared_ptr<const model::TextModel>& text,
                                       const DecoderShape& shape, Executor& executor);

}  // namespace clasp::engine
