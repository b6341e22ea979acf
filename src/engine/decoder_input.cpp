#include "engine/decoder_input.h"

#include <algorithm>

#include "methods/raters.h"

namespace clasp::engine {

namespace {

using methods::StageNeeds;

// Ids of the text tokens after the last image.
std::vector<std::int32_t> post_tokens(const Prompt& prompt) {
    std::vector<std::int32_t> tokens;
    for (const PromptPiece& piece : prompt.pieces) {
        if (piece.image >= 0) tokens.clear();
        tokens.insert(tokens.end(), piece.tokens.begin(), piece.tokens.end());
    }
    return tokens;
}

// The places of the text tokens that the images attend to.
Result<std::vector<std::int32_t>> find_raters(const Prompt& prompt, const PromptLayout& layout,
                                              const VisualInput& visual, DecoderSession& session) {
    const auto width = static_cast<std::size_t>(session.model().config().width);
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> text, session.embed(post_tokens(prompt)));
    std::vector<float> tokens;
    for (const SeenImage& image : visual.images) {
        tokens.insert(tokens.end(), image.values.begin(), image.values.end());
    }
    const std::vector<std::size_t> raters =
        methods::text_raters({tokens.data(), tokens.size() / width, width, width},
                             {text.data(), text.size() / width, width, width});
    std::vector<std::int32_t> places;
    for (const std::size_t rater : raters) places.push_back(layout.post[rater]);
    return places;
}

Result<std::vector<std::int32_t>> find_reference(methods::Reference wanted, ReferenceTokens policy_reference,
                                                 const Prompt& prompt, const PromptLayout& layout,
                                                 const VisualInput& visual, DecoderSession& session) {
    switch (wanted) {
        case methods::Reference::Last: return reference_tokens(layout, ReferenceMode::Last);
        case methods::Reference::Post: return reference_tokens(layout, ReferenceMode::Post);
        case methods::Reference::All: return reference_tokens(layout, ReferenceMode::All);
        case methods::Reference::Raters: return find_raters(prompt, layout, visual, session);
        case methods::Reference::Policy: break;
    }
    switch (policy_reference) {
        case ReferenceTokens::Last: return reference_tokens(layout, ReferenceMode::Last);
        case ReferenceTokens::Post: return reference_tokens(layout, ReferenceMode::Post);
        case ReferenceTokens::Instruction: return reference_tokens(layout, ReferenceMode::Instruction);
        case ReferenceTokens::Raters: break;
    }
    return find_raters(prompt, layout, visual, session);
}

PrefillStage prefill_stage(const methods::DecoderStage& stage, const std::vector<std::int32_t>& reference) {
    const StageNeeds& needs = stage.needs;
    PrefillStage wanted;
    wanted.layer = static_cast<std::int32_t>(stage.layer);
    wanted.mode = stage.mode;
    wanted.probe.scores = needs.attention == StageNeeds::Attention::Mean;
    if (needs.attention != StageNeeds::Attention::None && !wanted.probe.scores) {
        wanted.probe.row_queries = reference;
    }
    wanted.probe.rows_are_logits = needs.attention == StageNeeds::Attention::LogitRows;
    wanted.probe.rows_per_head = needs.attention == StageNeeds::Attention::HeadRows;
    wanted.probe.key_norms = needs.key_norms;
    wanted.probe.hidden = needs.hidden == StageNeeds::Hidden::Raw;
    wanted.probe.hidden_after_norm = needs.hidden == StageNeeds::Hidden::FinalNorm;
    wanted.probe.text = needs.text;
    return wanted;
}

// The class token of the encoder takes the first patch's position.
std::vector<std::int32_t> place_numbers(const SeenImage& image) {
    std::vector<std::int32_t> places;
    for (const TokenIndex place : image.places) {
        places.push_back(place == methods::kClassToken ? 0 : static_cast<std::int32_t>(place));
    }
    return places;
}

}  // namespace

PrefillRequest DecoderInput::request() const {
    PrefillRequest request;
    request.parts = parts;
    request.reference_tokens = reference;
    request.stages = stages;
    return request;
}

Result<DecoderInput> lay_out_decoder(const Prompt& prompt, const VisualInput& visual,
                                     const methods::MethodRun* run, ReferenceTokens policy_reference,
                                     DecoderSession& session) {
    DecoderInput input;
    std::vector<std::size_t> tokens_per_image;
    for (const SeenImage& image : visual.images) {
        tokens_per_image.push_back(image.n_tokens());
        input.places.push_back(visual.reports.empty() ? std::vector<std::int32_t>() : place_numbers(image));
    }
    CLASP_ASSIGN_OR_RETURN(const PromptLayout layout, lay_out(prompt, tokens_per_image));
    for (const PromptPiece& piece : prompt.pieces) {
        PromptPart part;
        if (piece.image >= 0) {
            const auto number = static_cast<std::size_t>(piece.image);
            const SeenImage& image = visual.images[number];
            part.embeddings = image.values;
            part.places = input.places[number];
            part.n_unpruned = static_cast<std::int32_t>(image.grid.height * image.grid.width);
            part.masses = image.masses;
        } else {
            part.tokens = piece.tokens;
        }
        input.parts.push_back(part);
    }
    if (run == nullptr || run->program().stages.empty()) return input;
    CLASP_ASSIGN_OR_RETURN(input.reference,
                           find_reference(run->program().stages.front().needs.reference, policy_reference,
                                          prompt, layout, visual, session));
    for (const methods::DecoderStage& stage : run->program().stages) {
        input.stages.push_back(prefill_stage(stage, input.reference));
    }
    return input;
}

Result<std::vector<float>> embed_words(const methods::MethodRun* run, const Prompt& prompt,
                                       DecoderSession& session) {
    if (run == nullptr || !run->program().encoder.text) return std::vector<float>();
    std::vector<std::int32_t> words;
    for (const PromptPiece& piece : prompt.pieces) {
        for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
            if (piece.is_instruction[i]) words.push_back(piece.tokens[i]);
        }
    }
    if (words.empty()) words = post_tokens(prompt);
    return session.embed(words);
}

}  // namespace clasp::engine
