// Picks the next token from logits, through libllama's samplers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "clasp/status.h"

struct llama_sampler;
struct llama_token_data;
struct llama_vocab;

namespace clasp::engine {

struct SamplingOptions {
    float temperature = 0.0F;  // 0: the likeliest token, always
    float top_p = 1.0F;        // smallest set of tokens with this probability, above 0 and at most 1
    std::int32_t top_k = 0;    // 0: all
    float min_p = 0.0F;        // share of the likeliest token's probability, 0 to 1
    float frequency_penalty = 0.0F;
    float presence_penalty = 0.0F;
    float repeat_penalty = 1.0F;    // above 0
    std::int32_t n_vocabulary = 0;  // which penalties have to know
    std::uint32_t seed = 0;         // the same seed gives the same tokens
    std::vector<TokenBias> token_bias = {};
    std::string grammar = {};
    const llama_vocab* vocabulary = nullptr;  // borrowed; needed with a grammar
};

// Not thread safe.
class Sampler {
   public:
    static Result<std::unique_ptr<Sampler>> create(const SamplingOptions& options);
    ~Sampler();
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    // logits: one per token of the vocabulary, all finite, not empty. Nothing: biases and grammar leave no
    // token.
    std::optional<std::int32_t> pick(std::span<const float> logits);

   private:
    struct Free {
        void operator()(llama_sampler* sampler) const;
    };

    Sampler();

    std::unique_ptr<llama_sampler, Free> filters_;  // what may be written at all; null: everything
    std::unique_ptr<llama_sampler, Free> chain_;
    std::vector<llama_token_data> candidates_;
};

}  // namespace clasp::engine
