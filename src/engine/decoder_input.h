// A request as the decoder gets it: the parts of the prompt with the images' tokens in their places, the
// reference tokens, and what each stage looks at.
#pragma once

#include <vector>

#include "clasp/policy.h"
#include "clasp/status.h"
#include "engine/decoder_session.h"
#include "engine/prompt.h"
#include "engine/visual_input.h"
#include "methods/method.h"

namespace clasp::engine {

struct DecoderInput {
    std::vector<PromptPart> parts;                  // borrow from the prompt and the images
    std::vector<std::vector<std::int32_t>> places;  // of images that lost tokens
    std::vector<std::int32_t> reference;
    std::vector<PrefillStage> stages;

    // Borrows from this.
    [[nodiscard]] PrefillRequest request() const;
};

// run may be null: no stages. The session is used to look embeddings up and is empty afterwards.
Result<DecoderInput> lay_out_decoder(const Prompt& prompt, const VisualInput& visual,
                                     const methods::MethodRun* run, ReferenceTokens policy_reference,
                                     DecoderSession& session);

// The decoder's embeddings of the user's words if the method asks for them, else nothing.
Result<std::vector<float>> embed_words(const methods::MethodRun* run, const Prompt& prompt,
                                       DecoderSession& session);

}  // namespace clasp::engine
