#include "engine/measure_decoder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/stopwatch.h"

namespace clasp::engine {

namespace {

constexpr std::array<std::size_t, 2> kSizes = {16, 64};
constexpr int kRounds = 2;

Result<double> time_block(const std::shared_ptr<const model::TextModel>& text, std::size_t n_tokens,
                          Executor& executor) {
    const std::vector<std::int32_t> tokens(n_tokens, 0);
    const PromptPart part = {.tokens = tokens};
    CLASP_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(text));
    CLASP_ASSIGN_OR_RETURN(const auto run, executor.start(sequence, {.parts = std::span(&part, 1)}));
    const base::Stopwatch watch;
    CLASP_RETURN_IF_ERROR(run->advance(1));
    return watch.elapsed_ms();
}

}  // namespace

Result<DecoderTimings> measure_decoder(const std::shared_ptr<const model::TextModel>& text,
                                       const DecoderShape& shape, Executor& executor) {
    std::array<TimedLayer, kSizes.size()> fastest;
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
        fastest[i] = {kSizes[i], std::numeric_limits<double>::infinity()};
        for (int round = 0; round < kRounds; ++round) {
            CLASP_ASSIGN_OR_RETURN(const double ms, time_block(text, kSizes[i], executor));
            fastest[i].ms = std::min(fastest[i].ms, ms);
        }
    }
    return fit_timings(fastest[0], fastest[1], shape);
}

}  // namespace clasp::engine
