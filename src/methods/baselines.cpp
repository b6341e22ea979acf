// The two baselines that every comparison needs: a random choice and an even one.
#include <algorithm>
#include <optional>
#include <vector>

#include "methods/methods.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

constexpr double kLargestSeed = 9e15;  // what a double counts exactly

// A well-mixed 64-bit number from two (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// Each token draws a number from the seed, its picture and its own index, the lowest stay. The same token
// keeps its number at every stage, so a later stage keeps a random part of the earlier one; another picture
// loses other places.
class RandomRun : public MethodRun {
   public:
    explicit RandomRun(const Setup& setup) {
        program_ = staged_program(setup, {});
        if (setup.settings.has("seed")) seed_ = setup.settings.integer("seed");
    }

    Status at_stage(const StageInput& input, Plan& plan) override {
        std::vector<TokenIndex> order(input.live.begin(), input.live.end());
        const auto end = order.begin() + static_cast<std::ptrdiff_t>(input.keep);
        const std::uint64_t seed = mixed(seed_.value_or(input.seed), input.picture);
        std::nth_element(order.begin(), end, order.end(),
                         [&](TokenIndex a, TokenIndex b) { return mixed(seed, a) < mixed(seed, b); });
        std::sort(order.begin(), end);
        plan.keep_all_of(std::span(order).first(input.keep), Reason::Coverage);
        return ok_status();
    }

   private:
    std::optional<std::uint64_t> seed_;  // else the request's
};

// The middles of `keep` equal pieces of the live list.
class UniformRun : public MethodRun {
   public:
    explicit UniformRun(const Setup& setup) { program_ = staged_program(setup, {}); }

    Status at_stage(const StageInput& input, Plan& plan) override {
        for (std::size_t i = 0; i < input.keep; ++i) {
            plan.keep(input.live[(2 * i + 1) * input.live.size() / (2 * input.keep)], Reason::Coverage);
        }
        return ok_status();
    }
};

template <typename Run>
Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    return std::unique_ptr<MethodRun>(new Run(setup));
}

}  // namespace

Method random_method() {
    return {.name = "random",
            .summary = "tokens drawn at random from the seed and the picture",
            .uses_schedule = true,
            .options = {{.name = "seed",
                         .help = "seed of the draw; without it that of --select-seed",
                         .fallback = "",
                         .type = OptionSpec::Type::Integer,
                         .min = 0,
                         .max = kLargestSeed}},
            .start = start<RandomRun>};
}

Method uniform_method() {
    return {.name = "uniform",
            .summary = "tokens evenly spaced in reading order",
            .uses_schedule = true,
            .start = start<UniformRun>};
}

}  // namespace clasp::methods
