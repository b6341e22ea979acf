// How long reading a prompt takes on this machine, with a method and without: what "--budget auto" decides
// by. Predictions from two measured numbers of the decoder and from counted operations; nothing here runs
// anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clasp/schedule.h"
#include "methods/method.h"

namespace clasp::engine {

// Of one block of the decoder.
struct DecoderTimings {
    double layer_ms = 0.0;  // however few tokens it processes
    double token_ms = 0.0;  // of each token, attention between tokens left out
};

// One block over so many tokens.
struct TimedLayer {
    std::size_t n_tokens = 0;
    double ms = 0.0;
};

// From two sizes. What noise makes negative is 0.
DecoderTimings fit_timings(const TimedLayer& small, const TimedLayer& large, const DecoderShape& shape);

// The tokens of a prompt.
struct PromptCounts {
    std::size_t n_visual = 0;   // that a method chooses from
    std::size_t n_carried = 0;  // text, and what else always stays
};

struct FirstTokenTimes {
    double unpruned_ms = 0.0;
    double pruned_ms = 0.0;  // choosing included

    // With a margin for what the model does not know.
    [[nodiscard]] bool pays() const { return pruned_ms < (1.0 - kMargin) * unpruned_ms; }

    static constexpr double kMargin = 0.1;
};

// What counted operations say by themselves, whatever the machine.
enum class PruningVerdict : std::uint8_t {
    NeverPays,   // not even where beginning a block costs nothing
    AlwaysPays,  // even where beginning a block costs more than on any machine that is meant
    Depends,
};

// Visual tokens that each layer processes under a program.
std::vector<std::size_t> tokens_per_layer(const methods::Program& program, std::size_t n_layers);

// Encoding and projecting are the same on both sides and left out. has_masses: dropped tokens look for their
// nearest survivor. iterations: of the clustering.
FirstTokenTimes predict_first_token(const methods::Program& program, const PromptCounts& prompt,
                                    const DecoderShape& shape, const DecoderTimings& timings, bool has_masses,
                                    std::size_t iterations);

PruningVerdict judge_by_counts(const methods::Program& program, const PromptCounts& prompt,
                               const DecoderShape& shape, bool has_masses, std::size_t iterations);

}  // namespace clasp::engine
