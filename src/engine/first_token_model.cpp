#include "engine/first_token_model.h"

#include <algorithm>

#include "clasp/select.h"

namespace clasp::engine {

namespace {

double number(std::size_t count) {
    return static_cast<double>(count);
}

// Operations of one token in a block, and of a pair of tokens that see each other.
struct BlockWork {
    double per_token = 0.0;
    double per_pair = 0.0;
    double keys_per_token = 0.0;  // of the keys alone, which a stage looks at
};

BlockWork work_of(const DecoderShape& shape) {
    const double width = number(shape.width);
    const double query_width = number(shape.n_heads * shape.head_width);
    const double key_width = number(shape.n_kv_heads * shape.head_width);
    BlockWork work;
    work.per_token = 2.0 * width * (2.0 * query_width + 2.0 * key_width) +
                     2.0 * width * number(shape.ffn_width) * (shape.has_gated_ffn ? 3.0 : 2.0);
    work.per_pair = 4.0 * query_width;
    work.keys_per_token = 2.0 * width * key_width;
    return work;
}

// Products of tokens with each other run in single precision, at half the speed of the decoder's; additions
// of integers, which read as much memory as they add, at a quarter.
constexpr double kProductSlowdown = 2.0;
constexpr double kAdditionSlowdown = 4.0;

// What beginning a block costs at most, in tokens that could be computed meanwhile: its weights are read,
// which takes as long as so many tokens where arithmetic is far ahead of memory, and its operations are
// handed out, in a millisecond on a machine that computes 1e13 operations in a second.
constexpr double kMostTokensToRead = 64.0;
constexpr double kMostOperationsToBegin = 1e10;

class Predictor {
   public:
    Predictor(const DecoderShape& shape, const DecoderTimings& timings)
        : shape_(shape),
          timings_(timings),
          work_(work_of(shape)),
          per_ms_(work_.per_token / timings.token_ms) {}

    // A block, of which every token sees those before it.
    [[nodiscard]] double layer_ms(std::size_t n_tokens) const {
        const double n = number(n_tokens);
        return timings_.layer_ms + n * timings_.token_ms + products_ms(0.5 * n * n * work_.per_pair, 1.0);
    }
    // A look at a stage and the rows that are gathered after it: two graphs, keys of all tokens, and the
    // attention of about all text.
    [[nodiscard]] double look_ms(std::size_t n_tokens, std::size_t n_text) const {
        const double n = number(n_tokens);
        return 2.0 * timings_.layer_ms +
               products_ms(n * work_.keys_per_token + n * number(n_text) * work_.per_pair, 1.0);
    }
    // Cosines of all tokens, once for all stages.
    [[nodiscard]] double gram_ms(std::size_t n) const {
        return products_ms(2.0 * number(n) * number(n) * number(shape_.width), kProductSlowdown);
    }
    [[nodiscard]] double cluster_ms(std::size_t n, std::size_t keep, std::size_t iterations) const {
        const double rounds = number(iterations) + 1.0;
        if (n <= kMaxGramTokens) {
            return products_ms(rounds * number(n) * number(n), kAdditionSlowdown);
        }
        return products_ms(rounds * 2.0 * number(n) * number(keep) * number(shape_.width), kProductSlowdown);
    }

   private:
    [[nodiscard]] double products_ms(double operations, double slowdown) const {
        return operations * slowdown / per_ms_;
    }

    DecoderShape shape_;
    DecoderTimings timings_;
    BlockWork work_;
    double per_ms_;  // operations
};

}  // namespace

DecoderTimings fit_timings(const TimedLayer& small, const TimedLayer& large, const DecoderShape& shape) {
    const BlockWork work = work_of(shape);
    // In units of a token: attention counts by its operations.
    const auto size = [&](const TimedLayer& layer) {
        const double n = number(layer.n_tokens);
        return n + 0.5 * n * n * work.per_pair / work.per_token;
    };
    DecoderTimings timings;
    timings.token_ms = (large.ms - small.ms) / (size(large) - size(small));
    if (!(timings.token_ms > 0.0)) timings.token_ms = std::max(large.ms, 1e-9) / size(large);
    timings.layer_ms = std::max(0.0, small.ms - timings.token_ms * size(small));
    return timings;
}

std::vector<std::size_t> tokens_per_layer(const methods::Program& program, std::size_t n_layers) {
    std::vector<std::size_t> per_layer;
    std::size_t live = program.entering;
    std::size_t next = 0;
    for (std::size_t layer = 0; layer < n_layers; ++layer) {
        while (next < program.stages.size()) {
            const methods::DecoderStage& stage = program.stages[next];
            if (stage.layer + (stage.mode == StageMode::After ? 1 : 0) > layer) break;
            live = std::min(live, stage.keep);
            ++next;
        }
        per_layer.push_back(live);
    }
    return per_layer;
}

FirstTokenTimes predict_first_token(const methods::Program& program, const PromptCounts& prompt,
                                    const DecoderShape& shape, const DecoderTimings& timings, bool has_masses,
                                    std::size_t iterations) {
    const Predictor predictor(shape, timings);
    FirstTokenTimes times;
    times.unpruned_ms = number(shape.n_layers) * predictor.layer_ms(prompt.n_visual + prompt.n_carried);
    for (const std::size_t n : tokens_per_layer(program, shape.n_layers)) {
        times.pruned_ms += predictor.layer_ms(n + prompt.n_carried);
    }
    std::size_t live = std::min(program.entering, prompt.n_visual);
    bool has_gram = program.encoder.gram || (has_masses && live < prompt.n_visual);
    for (const methods::DecoderStage& stage : program.stages) {
        times.pruned_ms += predictor.look_ms(live + prompt.n_carried, prompt.n_carried);
        if (stage.needs.gram) times.pruned_ms += predictor.cluster_ms(live, stage.keep, iterations);
        has_gram = has_gram || stage.needs.gram || has_masses;
        live = std::min(live, stage.keep);
    }
    if (has_gram && prompt.n_visual <= kMaxGramTokens) times.pruned_ms += predictor.gram_ms(prompt.n_visual);
    return times;
}

PruningVerdict judge_by_counts(const methods::Program& program, const PromptCounts& prompt,
                               const DecoderShape& shape, bool has_masses, std::size_t iterations) {
    // Both times are straight lines over what beginning a block costs, and pruning begins more graphs: what
    // holds at an end of the range holds beyond it.
    const auto pays = [&](double tokens_to_begin) {
        const DecoderTimings timings = {.layer_ms = tokens_to_begin, .token_ms = 1.0};
        return predict_first_token(program, prompt, shape, timings, has_masses, iterations).pays();
    };
    if (!pays(0.0)) return PruningVerdict::NeverPays;
    const double most = kMostTokensToRead + kMostOperationsToBegin / work_of(shape).per_token;
    return pays(most) ? PruningVerdict::AlwaysPays : PruningVerdict::Depends;
}

}  // namespace clasp::engine
