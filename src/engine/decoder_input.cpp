#include "engine/decoder_input.h"

#include <algorithm>
#include <utility>

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
                                              const VisualInput& visual, Executor& executor) {
    const auto width = static_cast<std::size_t>(executor.model().config().width);
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> text, executor.embed(post_tokens(prompt)));
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
                                                 const VisualInput& visual, Executor& executor) {
    switch (wanted) {
        case methods::Reference::Last: return reference_tokens(layout, ReferenceMode::Last);
        case methods::Reference::Post: return reference_tokens(layout, ReferenceMode::Post);
        case methods::Reference::All: return reference_tokens(layout, ReferenceMode::All);
        case methods::Reference::Raters: return find_raters(prompt, layout, visual, executor);
        case methods::Reference::Policy: break;
    }
    switch (policy_reference) {
        case ReferenceTokens::Last: return reference_tokens(layout, ReferenceMode::Last);
        case ReferenceTokens::Post: return reference_tokens(layout, ReferenceMode::Post);
        case ReferenceTokens::Instruction: return reference_tokens(layout, ReferenceMode::Instruction);
        case ReferenceTokens::Raters: break;
    }
    return find_raters(prompt, layout, visual, executor);
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

}  // namespace

PrefillRequest DecoderInput::request() const {
    PrefillRequest request;
    request.parts = parts;
    request.reference_tokens = reference;
    request.stages = stages;
    return request;
}

Result<DecoderInput> lay_out_decoder(const Prompt& prompt, const VisualInput& visual,
                                     const model::VisionModel* vision, const methods::MethodRun* run,
                                     ReferenceTokens policy_reference, Executor& executor) {
    DecoderInput input;
    std::vector<std::size_t> tokens_per_image;
    std::int32_t next_line = 0;
    for (const SeenImage& image : visual.images) {
        CLASP_ASSIGN_OR_RETURN(ArrangedImage arranged, arrange_image(image, !visual.reports.empty(), *vision,
                                                                     executor.model(), next_line));
        tokens_per_image.push_back(arranged.n_rows);
        input.images.push_back(std::move(arranged));
    }
    CLASP_ASSIGN_OR_RETURN(const PromptLayout layout, lay_out(prompt, tokens_per_image));
    std::int32_t n_lost = 0;  // behind the last part
    for (const PromptPiece& piece : prompt.pieces) {
        const std::size_t first = input.parts.size();
        std::int32_t lost_behind = 0;
        if (piece.image >= 0) {
            const ArrangedImage& image = input.images[static_cast<std::size_t>(piece.image)];
            input.parts.insert(input.parts.end(), image.parts.begin(), image.parts.end());
            lost_behind = image.n_lost_behind;
        } else {
            input.parts.push_back({.tokens = piece.tokens});
        }
        input.parts[first].n_lost_before += std::exchange(n_lost, lost_behind);
    }
    if (run == nullptr || run->program().stages.empty()) return input;
    CLASP_ASSIGN_OR_RETURN(input.reference,
                           find_reference(run->program().stages.front().needs.reference, policy_reference,
                                          prompt, layout, visual, executor));
    for (const methods::DecoderStage& stage : run->program().stages) {
        input.stages.push_back(prefill_stage(stage, input.reference));
    }
    return input;
}

Result<std::vector<float>> embed_words(const methods::MethodRun* run, const Prompt& prompt,
                                       Executor& executor) {
    if (run == nullptr || !run->program().encoder.text) return std::vector<float>();
    std::vector<std::int32_t> words;
    for (const PromptPiece& piece : prompt.pieces) {
        for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
            if (piece.is_instruction[i]) words.push_back(piece.tokens[i]);
        }
    }
    if (words.empty()) words = post_tokens(prompt);
    return executor.embed(words);
}

}  // namespace clasp::engine
