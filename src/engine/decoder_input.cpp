#include "engine/decoder_input.h"

#include <map>
#include <utility>

#include "methods/raters.h"

namespace clasp::engine {

namespace {

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

methods::Reference reference_of(ReferenceTokens policy_reference) {
    switch (policy_reference) {
        case ReferenceTokens::Last: return methods::Reference::Last;
        case ReferenceTokens::Post: return methods::Reference::Post;
        case ReferenceTokens::Instruction: return methods::Reference::Instruction;
        case ReferenceTokens::Raters: break;
    }
    return methods::Reference::Raters;
}

}  // namespace

PrefillRequest DecoderInput::request() const {
    PrefillRequest request;
    request.parts = parts;
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
    std::map<methods::Reference, std::vector<std::int32_t>> found;
    for (const methods::DecoderStage& stage : run->program().stages) {
        PrefillStage looking = {
            .layer = static_cast<std::int32_t>(stage.layer), .mode = stage.mode, .needs = stage.needs};
        if (stage.needs.asks_attention()) {
            const bool is_policy = stage.needs.reference == methods::Reference::Policy;
            const methods::Reference wanted =
                is_policy ? reference_of(policy_reference) : stage.needs.reference;
            if (!found.contains(wanted)) {
                CLASP_ASSIGN_OR_RETURN(found[wanted], wanted == methods::Reference::Raters
                                                          ? find_raters(prompt, layout, visual, executor)
                                                          : Result(reference_tokens(layout, wanted)));
            }
            looking.reference = found[wanted];
        }
        input.stages.push_back(std::move(looking));
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
