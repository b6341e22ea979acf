#include "methods/prumerge.h"

#include <algorithm>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

struct Kept {
    std::vector<TokenIndex> by_attention;  // most attended first
    std::vector<TokenIndex> evenly;        // rising
};

Status check_input(std::span<const float> class_attention, const GramView& keys) {
    CLASP_RETURN_IF_ERROR(check_budget(1, class_attention.size()));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, class_attention.size(), "class attention"));
    return check_cosines(keys, class_attention.size());
}

std::vector<TokenIndex> rising(std::vector<TokenIndex> tokens) {
    std::sort(tokens.begin(), tokens.end());
    return tokens;
}

// A kept patch and its most similar others, each weighed by its class attention.
std::vector<MergeSource> with_neighbours(TokenIndex token, std::span<const float> class_attention,
                                         const GramView& keys, std::size_t n_neighbours) {
    const float* row = keys.data + token * keys.stride;
    std::vector<float> similarity(row, row + keys.rows);
    constexpr float kBelowAnyCosine = -2.0F;
    similarity[token] = kBelowAnyCosine;
    std::vector<MergeSource> sources = {{token, 1.0F}};
    for (const TokenIndex other : highest(similarity, std::min(n_neighbours, keys.rows - 1))) {
        sources.push_back({other, class_attention[other]});
    }
    return sources;
}

// What sums up the dropped patches.
struct Rest {
    TokenIndex place;
    std::vector<MergeSource> sources;
};

Rest sum_up(std::span<const TokenIndex> dropped, std::span<const float> class_attention) {
    Rest rest = {dropped[0], {}};
    for (const TokenIndex token : dropped) {
        if (class_attention[token] > class_attention[rest.place]) rest.place = token;
        rest.sources.push_back({token, class_attention[token]});
    }
    return rest;
}

Plan merge(const Kept& kept, bool adds_rest, std::span<const float> class_attention, const GramView& keys,
           const PrumergeOptions& options) {
    std::vector<TokenIndex> order = kept.by_attention;
    order.insert(order.end(), kept.evenly.begin(), kept.evenly.end());
    if (options.sorts) std::sort(order.begin(), order.end());
    Plan plan;
    for (const TokenIndex token : order) {
        plan.merge(token, with_neighbours(token, class_attention, keys, options.neighbours));
    }
    const std::vector<TokenIndex> dropped = others(class_attention.size(), rising(std::move(order)));
    if (adds_rest && !dropped.empty()) {
        const Rest rest = sum_up(dropped, class_attention);
        plan.merge(rest.place, rest.sources);
    }
    return plan;
}

}  // namespace

std::size_t count_outliers(std::span<const float> values) {
    const double first = quantile(values, 0.25);
    const double third = quantile(values, 0.75);
    const double threshold = third + 1.5 * (third - first);
    return static_cast<std::size_t>(std::count_if(
        values.begin(), values.end(), [&](float value) { return static_cast<double>(value) > threshold; }));
}

Result<Plan> prumerge(std::span<const float> class_attention, const GramView& keys, std::size_t keep,
                      const PrumergeOptions& options) {
    const std::size_t n = class_attention.size();
    CLASP_RETURN_IF_ERROR(check_budget(keep, n));
    CLASP_RETURN_IF_ERROR(check_input(class_attention, keys));
    if (keep >= n) return keep_all_tokens(n);

    const bool adds_rest = keep > 1;
    const std::size_t n_patches = adds_rest ? keep - 1 : keep;
    const std::size_t n_top = options.is_plus ? (n_patches + 3) / 4 : n_patches;
    const std::vector<TokenIndex> order = ranked(class_attention);
    Kept kept;
    kept.by_attention.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_top));
    const std::size_t n_even = n_patches - n_top;
    const std::vector<TokenIndex> rest = others(n, rising(kept.by_attention));
    for (std::size_t i = 0; i < n_even; ++i) {
        kept.evenly.push_back(rest[(2 * i + 1) * rest.size() / (2 * n_even)]);
    }
    return merge(kept, adds_rest, class_attention, keys, options);
}

Result<Plan> prumerge_adaptive(std::span<const float> class_attention, const GramView& keys,
                               const PrumergeOptions& options) {
    CLASP_RETURN_IF_ERROR(check_input(class_attention, keys));
    const std::size_t n = class_attention.size();
    const std::size_t n_top = std::max<std::size_t>(1, count_outliers(class_attention));
    const std::vector<TokenIndex> order = ranked(class_attention);
    Kept kept;
    kept.by_attention.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_top));
    if (options.is_plus) {
        const std::size_t step = std::max<std::size_t>(1, n / n_top / 3);
        const std::vector<TokenIndex> rest = others(n, rising(kept.by_attention));
        for (const TokenIndex token : rest) {
            if (token % step == 0 && token + 1 < n) kept.evenly.push_back(token);
        }
    }
    return merge(kept, true, class_attention, keys, options);
}

namespace {

class PrumergeRun : public MethodRun {
   public:
    PrumergeRun(const Setup& setup, std::size_t entering, bool is_plus) {
        options_.is_plus = is_plus;
        options_.neighbours = setup.settings.integer("neighbours");
        options_.sorts = setup.settings.is("order", "raster");
        block_ = block_after_features(setup, is_plus ? "prumerge+" : "prumerge", program_);
        program_.encoder.class_query = {block_};
        program_.encoder.keys = {block_};
        program_.has_after_encoder = true;
        program_.entering = entering;
        program_.is_adaptive = setup.settings.is("count", "adaptive");
        if (program_.is_adaptive) {
            program_.notes.emplace_back(
                "count=adaptive lets the picture decide how many tokens enter; the budget is not used");
        }
        program_.positions = PositionMode::Compact;
    }

    Status after_encoder(const ImageInput& input, Plan& plan) override {
        CLASP_ASSIGN_OR_RETURN(const CosineMatrix keys,
                               CosineMatrix::of(without_first(values_of(input.keys, block_)), input.pool));
        const std::vector<float> attention = unsplit_class_attention(input, block_);
        CLASP_ASSIGN_OR_RETURN(plan, program_.is_adaptive
                                         ? prumerge_adaptive(attention, keys.view(), options_)
                                         : prumerge(attention, keys.view(), input.keep, options_));
        return ok_status();
    }

   private:
    std::size_t block_ = 0;
    PrumergeOptions options_;
};

Result<std::unique_ptr<MethodRun>> start_prumerge(const Setup& setup, bool is_plus) {
    const std::string_view name = is_plus ? "prumerge+" : "prumerge";
    CLASP_RETURN_IF_ERROR(require_class_token(setup, name));
    CLASP_ASSIGN_OR_RETURN(std::size_t entering, entering_count(setup.budget, name));
    if (setup.settings.is("count", "adaptive")) entering = setup.n_visual;
    return std::unique_ptr<MethodRun>(new PrumergeRun(setup, entering, is_plus));
}

std::vector<OptionSpec> prumerge_options() {
    return {{.name = "count",
             .help = "tokens by the budget, or as many as stand out in attention (the authors' rule)",
             .fallback = "fixed",
             .choices = {"fixed", "adaptive"}},
            {.name = "neighbours",
             .help = "patches that each kept one takes in",
             .fallback = "32",
             .type = OptionSpec::Type::Integer,
             .min = 0,
             .max = 4096},
            {.name = "order",
             .help = "order of the kept patches: by attention (the authors' code) or as in the picture",
             .fallback = "attention",
             .choices = {"attention", "raster"}}};
}

}  // namespace

Method prumerge_method() {
    return {
        .name = "prumerge",
        .summary = "the most attended patches, each with its neighbours, and one token for the rest",
        .paper = "LLaVA-PruMerge: Adaptive Token Reduction for Efficient Large Multimodal Models (ICCV 2025)",
        .merges = true,
        .drops = false,
        .options = prumerge_options(),
        .start = [](const Setup& setup) { return start_prumerge(setup, false); }};
}

Method prumerge_plus_method() {
    return {
        .name = "prumerge+",
        .summary = "prumerge with three quarters of its patches evenly spaced",
        .paper = "LLaVA-PruMerge: Adaptive Token Reduction for Efficient Large Multimodal Models (ICCV 2025)",
        .merges = true,
        .drops = false,
        .options = prumerge_options(),
        .start = [](const Setup& setup) { return start_prumerge(setup, true); }};
}

}  // namespace clasp::methods
