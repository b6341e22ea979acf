#include "calibrate/sampling.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>

namespace clasp::calibrate {

namespace {

// Fisher and Yates, written out so that every standard library gives the same order.
void shuffle(std::vector<std::size_t>& places, std::mt19937_64& random) {
    for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
}

}  // namespace

Result<Sampling> parse_sampling(std::string_view name) {
    if (name == "balanced") return Sampling::Balanced;
    if (name == "random") return Sampling::Random;
    return Status(Code::InvalidArgument, "sampling is balanced or random, not '" + std::string(name) + "'");
}

Result<std::vector<ClassSample>> draw_samples(std::span<const std::size_t> classes,
                                              std::span<const std::size_t> clusters, std::size_t n_classes,
                                              const SamplingOptions& options) {
    if (!(options.held_out >= 0.0 && options.held_out < 1.0)) {
        return Status(Code::InvalidArgument, "the share held out lies between 0 and 1");
    }
    for (const std::size_t id : classes) {
        if (id >= n_classes) {
            return Status(Code::InvalidArgument, "a question is of class " + std::to_string(id) +
                                                     ", but the policy has classes 0 to " +
                                                     std::to_string(n_classes - 1));
        }
    }
    std::mt19937_64 random(options.seed);
    std::vector<std::size_t> places(classes.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    shuffle(places, random);

    std::vector<std::vector<std::size_t>> chosen(n_classes);
    const std::size_t total = options.per_class * n_classes;
    std::size_t taken = 0;
    for (const std::size_t place : places) {
        std::vector<std::size_t>& mine = chosen[classes[place]];
        const bool has_room =
            options.sampling == Sampling::Balanced ? mine.size() < options.per_class : taken < total;
        if (!has_room) continue;
        mine.push_back(place);
        ++taken;
    }

    // A picture is on one side for all classes: the first class that draws it decides.
    std::map<std::size_t, bool> is_held_out;
    std::vector<ClassSample> samples(n_classes);
    for (std::size_t id = 0; id < n_classes; ++id) {
        const auto wanted =
            static_cast<std::size_t>(std::lround(options.held_out * static_cast<double>(chosen[id].size())));
        for (const std::size_t place : chosen[id]) {
            const bool wants = samples[id].held_out.size() < wanted;
            const bool is_out = is_held_out.emplace(clusters[place], wants).first->second;
            (is_out ? samples[id].held_out : samples[id].search).push_back(place);
        }
    }
    return samples;
}

}  // namespace clasp::calibrate
