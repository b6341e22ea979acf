#include "engine/token_check.h"

#include <cmath>
#include <string>

#include "base/invalid.h"
#include "engine/sampler.h"

namespace clasp::engine {

namespace {

using base::invalid;

Status check_token(std::int32_t token, std::int32_t n_vocabulary) {
    if (token >= 0 && token < n_vocabulary) return ok_status();
    return invalid("the vocabulary has no token " + std::to_string(token) + "; its tokens are 0 to " +
                   std::to_string(n_vocabulary - 1));
}

Status check_parts(const AskRequest& request, std::int32_t n_vocabulary) {
    const bool has_more =
        !request.history.empty() || !request.images.empty() || !request.answer_begin.empty();
    if (request.is_raw && has_more) {
        return invalid("a raw prompt is all there is: it has no history, no images beside it and no answer");
    }
    for (const MessagePart& part : request.parts) {
        if (!part.tokens.empty() && !request.is_raw)
            return invalid("tokens in place of words are for raw prompts alone");
        if (!part.tokens.empty() && (part.image || !part.text.empty()))
            return invalid("a part of the prompt is both tokens and something else");
        for (const std::int32_t token : part.tokens) CLASP_RETURN_IF_ERROR(check_token(token, n_vocabulary));
    }
    return ok_status();
}

}  // namespace

Status check_tokens(const AskRequest& request, const model::TextModel& model) {
    const std::int32_t n_vocabulary = model.config().vocabulary;
    const GenerationOptions& generation = request.generation;
    CLASP_RETURN_IF_ERROR(check_parts(request, n_vocabulary));
    if (generation.token_bias.size() > kMaxTokenBiases) {
        return invalid(std::to_string(generation.token_bias.size()) + " biases are more than the limit of " +
                       std::to_string(kMaxTokenBiases));
    }
    for (const TokenBias& bias : generation.token_bias) {
        CLASP_RETURN_IF_ERROR(check_token(bias.token, n_vocabulary));
        if (std::isnan(bias.bias) || bias.bias > 1e6) return invalid("a bias is no number, or infinite");
    }
    if (generation.n_likely && *generation.n_likely > kMaxLikely) {
        return invalid(std::to_string(*generation.n_likely) + " likely tokens are more than the limit of " +
                       std::to_string(kMaxLikely));
    }
    if (generation.grammar.empty()) return ok_status();
    SamplingOptions trial;
    trial.grammar = generation.grammar;
    trial.vocabulary = model.vocabulary();
    trial.n_vocabulary = n_vocabulary;
    return Sampler::create(trial).status();
}

}  // namespace clasp::engine
