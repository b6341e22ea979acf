// A request as the decoder gets it: the parts of the prompt with the images' tokens in their places, and what
// each stage looks at, through the eyes of which tokens.
#pragma once

#include <vector>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "engine/arranged_image.h"
#include "engine/executor.h"
#include "engine/prompt.h"
#include "engine/visual_input.h"
#include "methods/method.h"

namespace clasp::engine {

struct DecoderInput {
    std::vector<PromptPart> parts;  // borrow from the prompt, the images and what follows
    std::vector<ArrangedImage> images;
    std::vector<PrefillStage> stages;

    // Borrows from this.
    [[nodiscard]] PrefillRequest request() const;
};

// run may be null: no stages. Images must have come from this model; there are none without one. The executor
// looks embeddings up.
Result<DecoderInput> lay_out_decoder(const Prompt& prompt, const VisualInput& visual,
                                     const model::VisionModel* vision, const methods::MethodRun* run,
                                     ReferenceTokens policy_reference, Executor& executor);

// The decoder's embeddings of the user's words if the method asks for them, else nothing.
Result<std::vector<float>> embed_words(const methods::MethodRun* run, const Prompt& prompt,
                                       Executor& executor);

}  // namespace clasp::engine
