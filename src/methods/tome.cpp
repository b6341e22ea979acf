#include "methods/tome.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "methods/encoder_merge.h"
#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

struct Partner {
    TokenIndex token = 0;
    float similarity = -std::numeric_limits<float>::infinity();
};

Partner nearest_odd(const GramView& keys, TokenIndex token) {
    const float* row = keys.data + token * keys.stride;
    Partner best;
    for (TokenIndex odd = 1; odd < keys.rows; odd += 2) {
        if (row[odd] > best.similarity) best = {odd, row[odd]};
    }
    return best;
}

Status check_input(const GramView& keys, bool has_class, std::size_t n_merged, std::span<const float> sizes) {
    CLASP_RETURN_IF_ERROR(check_budget(1, keys.rows));
    CLASP_RETURN_IF_ERROR(check_cosines(keys, keys.rows));
    CLASP_RETURN_IF_ERROR(check_scores(sizes, keys.rows, "size"));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (!(sizes[i] > 0.0F)) {
            return {Code::InvalidArgument, "the size " + std::to_string(sizes[i]) + " of token " +
                                               std::to_string(i) + " is not positive"};
        }
    }
    const std::size_t most = (keys.rows - (has_class ? 1 : 0)) / 2;
    if (n_merged > most) {
        return {Code::InvalidArgument, "of " + std::to_string(keys.rows) + " tokens at most " +
                                           std::to_string(most) + " can be merged away, not " +
                                           std::to_string(n_merged)};
    }
    return ok_status();
}

}  // namespace

Result<Plan> tome_step(const GramView& keys, bool has_class, std::size_t n_merged,
                       std::span<const float> sizes) {
    CLASP_RETURN_IF_ERROR(check_input(keys, has_class, n_merged, sizes));
    if (n_merged == 0) {
        Plan plan = keep_all_tokens(keys.rows);
        plan.sizes.assign(sizes.begin(), sizes.end());
        return plan;
    }

    std::vector<Partner> partners;
    std::vector<float> similarity;
    for (TokenIndex even = 0; even < keys.rows; even += 2) {
        partners.push_back(has_class && even == 0 ? Partner{} : nearest_odd(keys, even));
        similarity.push_back(partners.back().similarity);
    }
    std::vector<TokenIndex> merged = ranked(similarity);
    merged.resize(n_merged);
    std::sort(merged.begin(), merged.end());

    // Even positions count half; per odd position the tokens that go into it.
    std::vector<std::vector<TokenIndex>> arrivals(keys.rows / 2);
    for (const TokenIndex half : merged) arrivals[partners[half].token / 2].push_back(2 * half);

    Plan plan;
    for (const TokenIndex half : others(partners.size(), merged)) {
        plan.keep(2 * half, Reason::Coverage);
        plan.sizes.push_back(sizes[2 * half]);
    }
    for (TokenIndex odd = 1; odd < keys.rows; odd += 2) {
        float total = sizes[odd];
        for (const TokenIndex arrival : arrivals[odd / 2]) total += sizes[arrival];
        plan.sizes.push_back(total);
        if (arrivals[odd / 2].empty()) {
            plan.keep(odd, Reason::Coverage);
            continue;
        }
        std::vector<MergeSource> sources = {{odd, sizes[odd] / total}};
        for (const TokenIndex arrival : arrivals[odd / 2]) {
            sources.push_back({arrival, sizes[arrival] / total});
        }
        plan.merge(odd, sources);
    }
    return plan;
}

namespace {

class TomeRun : public MethodRun {
   public:
    TomeRun(const Setup& setup, std::size_t entering) {
        for (std::size_t block = 0; block <= setup.vision.feature_layer; ++block) {
            program_.encoder_blocks.push_back(block);
        }
        program_.encoder.block_keys = true;
        program_.keeps_encoder_order = setup.settings.is("order", "native");
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status inside_encoder(const BlockInput& input, Plan& plan) override {
        const std::size_t n_class = input.has_class_token ? 1 : 0;
        CLASP_ASSIGN_OR_RETURN(
            const std::vector<std::size_t> left,
            spread_over_blocks(input.grid.size(), input.keep, program_.encoder_blocks.size(), true));
        const OwnedRows keys = mean_over_heads(input.keys, 0, input.n_heads);
        CLASP_ASSIGN_OR_RETURN(const CosineMatrix gram, CosineMatrix::of(keys.view(), input.pool));
        CLASP_ASSIGN_OR_RETURN(plan, tome_step(gram.view(), input.has_class_token,
                                               input.n_rows - n_class - left[input.block], input.sizes));
        return ok_status();
    }
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "tome"));
    const auto left = spread_over_blocks(setup.n_visual, entering, setup.vision.feature_layer + 1, true);
    CLASP_RETURN_IF_ERROR(left.status().with_context("tome"));
    return std::unique_ptr<MethodRun>(new TomeRun(setup, entering));
}

}  // namespace

Method tome_method() {
    return {.name = "tome",
            .summary = "similar patches merge in every block of the encoder",
            .paper = "Token Merging: Your ViT But Faster (ICLR 2023)",
            .merges = true,
            .drops = false,
            .options = {{.name = "order",
                         .help = "order of the merged tokens: by their first patch, or as the merging "
                                 "leaves them (the authors' code)",
                         .fallback = "first-patch",
                         .choices = {"first-patch", "native"}}},
            .start = start};
}

}  // namespace clasp::methods
