#include "methods/divprune.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "select/kernels/kernels.h"

namespace clasp::methods {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TokenIndex loneliest(const GramView& gram, std::span<const TokenIndex> live) {
    TokenIndex best = live[0];
    float best_similarity = kInfinity;
    for (const TokenIndex token : live) {
        const float* row = gram.data + token * gram.stride;
        float nearest = -kInfinity;
        for (const TokenIndex other : live) {
            if (other != token) nearest = std::max(nearest, row[other]);
        }
        if (nearest < best_similarity) {
            best_similarity = nearest;
            best = token;
        }
    }
    return best;
}

}  // namespace

void add_most_distant(const GramView& gram, std::span<const TokenIndex> live, std::size_t count,
                      std::vector<TokenIndex>& chosen) {
    if (count == 0) return;
    const selection::Kernels& kernels = selection::active_kernels();
    if (chosen.empty()) {
        chosen.push_back(loneliest(gram, live));
        --count;
    }
    std::vector<float> nearest(gram.rows, -kInfinity);
    kernels.max_rows(gram.data, gram.stride, chosen.data(), chosen.size(), gram.rows, nearest.data());
    // A chosen token must not come again, not even next to copies of itself.
    for (const TokenIndex token : chosen) nearest[token] = kInfinity;
    for (; count > 0; --count) {
        TokenIndex best = live[0];
        for (const TokenIndex token : live) {
            if (nearest[token] < nearest[best]) best = token;
        }
        chosen.push_back(best);
        kernels.max_rows(gram.data, gram.stride, &best, 1, gram.rows, nearest.data());
        nearest[best] = kInfinity;
    }
}

Result<Plan> divprune(const GramView& gram, std::size_t keep) {
    CLASP_RETURN_IF_ERROR(check_budget(keep, gram.rows));
    CLASP_RETURN_IF_ERROR(check_cosines(gram, gram.rows));
    if (keep >= gram.rows) return keep_all_tokens(gram.rows);
    std::vector<TokenIndex> live(gram.rows);
    std::iota(live.begin(), live.end(), 0U);
    std::vector<TokenIndex> chosen;
    chosen.reserve(keep);
    add_most_distant(gram, live, keep, chosen);
    return keep_tokens(std::move(chosen), Reason::Coverage);
}

namespace {

class DivpruneRun : public MethodRun {
   public:
    explicit DivpruneRun(std::size_t entering) {
        program_.encoder.gram = true;
        program_.has_after_projector = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status after_projector(const ImageInput& input, Plan& plan) override {
        CLASP_ASSIGN_OR_RETURN(plan, divprune(input.gram, input.keep));
        return ok_status();
    }
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "divprune"));
    return std::unique_ptr<MethodRun>(new DivpruneRun(entering));
}

}  // namespace

Method divprune_method() {
    return {.name = "divprune",
            .summary = "a set whose closest two tokens are as far apart as a greedy choice makes them",
            .paper = "DivPrune: Diversity-based Visual Token Pruning for Large Multimodal Models (CVPR 2025)",
            .start = start};
}

}  // namespace clasp::methods
