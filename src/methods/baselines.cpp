// The two baselines that every comparison needs: a random choice and an even one.
#include <algorithm>
#include <vector>

#include "methods/methods.h"

namespace clasp::methods {

namespace {

// A well-mixed 64-bit number from the seed and a token (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t seed, std::uint64_t token) {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15ULL + token + 1;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// Each token draws a number from the seed and its own index, the lowest stay. The same token keeps its
// number at every stage, so a later stage keeps a random part of the earlier one.
Status choose_at_random(const StageInput& input, SelectWorkspace& /*workspace*/, ThreadPool* /*pool*/,
                        SelectPlan& plan) {
    std::vector<TokenIndex> order(input.live.begin(), input.live.end());
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(input.keep);
    std::nth_element(order.begin(), end, order.end(),
                     [&](TokenIndex a, TokenIndex b) { return mixed(input.seed, a) < mixed(input.seed, b); });
    std::sort(order.begin(), end);
    plan_from_kept(std::span(order).first(input.keep), plan);
    return ok_status();
}

// The middles of `keep` equal pieces of the live list.
Status choose_evenly(const StageInput& input, SelectWorkspace& /*workspace*/, ThreadPool* /*pool*/,
                     SelectPlan& plan) {
    std::vector<TokenIndex> kept(input.keep);
    for (std::size_t i = 0; i < input.keep; ++i) {
        kept[i] = input.live[(2 * i + 1) * input.live.size() / (2 * input.keep)];
    }
    plan_from_kept(kept, plan);
    return ok_status();
}

}  // namespace

Method random_method() {
    return {.name = "random",
            .summary = "tokens drawn at random from the seed",
            .needs_scores = false,
            .choose = choose_at_random};
}

Method uniform_method() {
    return {.name = "uniform",
            .summary = "tokens evenly spaced in reading order",
            .needs_scores = false,
            .choose = choose_evenly};
}

}  // namespace clasp::methods
