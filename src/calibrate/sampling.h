// Which questions a calibration asks, and which it keeps back for the last word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "clasp/status.h"

namespace clasp::calibrate {

enum class Sampling : std::uint8_t {
    Balanced,  // the same number of every class, as far as there are so many
    Random,    // the same total, in the proportions of the data
};
Result<Sampling> parse_sampling(std::string_view name);  // "balanced", "random"

struct SamplingOptions {
    Sampling sampling = Sampling::Balanced;
    std::size_t per_class = 200;
    double held_out = 0.3;  // share of each class's sample
    std::uint64_t seed = 1;
};

// Places of questions, per class.
struct ClassSample {
    std::vector<std::size_t> search;
    std::vector<std::size_t> held_out;
};

// classes[i] is the class of question i; clusters[i] its picture. A picture is never in both parts.
// InvalidArgument unless 0 <= held_out < 1 and every class is below n_classes.
Result<std::vector<ClassSample>> draw_samples(std::span<const std::size_t> classes,
                                              std::span<const std::size_t> clusters, std::size_t n_classes,
                                              const SamplingOptions& options);

}  // namespace clasp::calibrate
