#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>

#include "llama.h"

namespace clasp::engine {

namespace {

// Tokens of the answer that penalties look back at.
constexpr std::int32_t kWholeAnswer = 4096;

Status check_more(const SamplingOptions& options) {
    if (options.top_k < 0) return {Code::InvalidArgument, "top-k is negative"};
    if (!(options.min_p >= 0.0F && options.min_p <= 1.0F)) {
        return {Code::InvalidArgument, "min-p is " + std::to_string(options.min_p) + ", outside 0 to 1"};
    }
    if (!(options.repeat_penalty > 0.0F) || !std::isfinite(options.repeat_penalty) ||
        !std::isfinite(options.frequency_penalty) || !std::isfinite(options.presence_penalty)) {
        return {Code::InvalidArgument, "penalties are finite, and that of repetition is above 0"};
    }
    return ok_status();
}

// Biases and the grammar, in front of everything else.
Result<llama_sampler*> make_filters(const SamplingOptions& options) {
    llama_sampler* const filters = llama_sampler_chain_init(llama_sampler_chain_default_params());
    if (filters == nullptr) return Status(Code::OutOfMemory, "no memory for a sampler");
    std::vector<llama_logit_bias> biases;
    for (const TokenBias& bias : options.token_bias) {
        biases.push_back({bias.token, static_cast<float>(bias.bias)});
    }
    if (!biases.empty()) {
        llama_sampler_chain_add(
            filters, llama_sampler_init_logit_bias(options.n_vocabulary,
                                                   static_cast<std::int32_t>(biases.size()), biases.data()));
    }
    if (options.grammar.empty()) return filters;
    llama_sampler* const grammar =
        llama_sampler_init_grammar(options.vocabulary, options.grammar.c_str(), "root");
    if (grammar == nullptr) {
        llama_sampler_free(filters);
        return Status(Code::InvalidArgument, "llama.cpp does not take the grammar of the answer");
    }
    llama_sampler_chain_add(filters, grammar);
    return filters;
}

}  // namespace

void Sampler::Free::operator()(llama_sampler* sampler) const {
    llama_sampler_free(sampler);
}

Sampler::Sampler() = default;
Sampler::~Sampler() = default;

Result<std::unique_ptr<Sampler>> Sampler::create(const SamplingOptions& options) {
    if (!std::isfinite(options.temperature) || options.temperature < 0.0F || options.temperature > 100.0F) {
        return Status(Code::InvalidArgument,
                      "the temperature is " + std::to_string(options.temperature) + ", outside 0 to 100");
    }
    if (!std::isfinite(options.top_p) || options.top_p <= 0.0F || options.top_p > 1.0F) {
        return Status(Code::InvalidArgument,
                      "top-p is " + std::to_string(options.top_p) + ", not above 0 and at most 1");
    }
    CLASP_RETURN_IF_ERROR(check_more(options));
    std::unique_ptr<Sampler> sampler(new Sampler());
    sampler->chain_.reset(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    if (sampler->chain_ == nullptr) return Status(Code::OutOfMemory, "no memory for a sampler");
    llama_sampler* const chain = sampler->chain_.get();
    if (!options.token_bias.empty() || !options.grammar.empty()) {
        CLASP_ASSIGN_OR_RETURN(llama_sampler* const filters, make_filters(options));
        sampler->filters_.reset(filters);
    }
    if (options.frequency_penalty != 0.0F || options.presence_penalty != 0.0F ||
        options.repeat_penalty != 1.0F) {
        llama_sampler_chain_add(
            chain, llama_sampler_init_penalties(options.n_vocabulary, kWholeAnswer, options.repeat_penalty,
                                                options.frequency_penalty, options.presence_penalty));
    }
    if (options.temperature == 0.0F) {
        llama_sampler_chain_add(chain, llama_sampler_init_greedy());
        return sampler;
    }
    if (options.top_k > 0) llama_sampler_chain_add(chain, llama_sampler_init_top_k(options.top_k));
    if (options.min_p > 0.0F) llama_sampler_chain_add(chain, llama_sampler_init_min_p(options.min_p, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_temp(options.temperature));
    if (options.top_p < 1.0F) llama_sampler_chain_add(chain, llama_sampler_init_top_p(options.top_p, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(options.seed));
    return sampler;
}

std::optional<std::int32_t> Sampler::pick(std::span<const float> logits) {
    candidates_.resize(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        candidates_[i] = {.id = static_cast<llama_token>(i), .logit = logits[i], .p = 0.0F};
    }
    llama_token_data_array array = {
        .data = candidates_.data(), .size = candidates_.size(), .selected = -1, .sorted = false};
    if (filters_ != nullptr) {
        llama_sampler_apply(filters_.get(), &array);
        const bool is_empty = std::none_of(candidates_.begin(), candidates_.end(), [](const auto& candidate) {
            return std::isfinite(candidate.logit);
        });
        if (is_empty) return std::nullopt;
    }
    llama_sampler_apply(chain_.get(), &array);
    const std::int32_t token = array.data[array.selected].id;
    llama_sampler_accept(chain_.get(), token);
    if (filters_ == nullptr) return token;
    try {
        llama_sampler_accept(filters_.get(), token);
    } catch (const std::exception&) {  // the grammar has no place for the token after all
        return std::nullopt;
    }
    return token;
}

}  // namespace clasp::engine
