#include "methods/visionzip.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

// The first count of the positions 0, step, 2 * step, ... of the list.
std::vector<TokenIndex> evenly_spaced(std::span<const TokenIndex> list, std::size_t count) {
    const std::size_t step = std::max<std::size_t>(1, list.size() / count);
    std::vector<TokenIndex> spaced;
    for (std::size_t i = 0; i < count; ++i) spaced.push_back(list[i * step]);
    return spaced;
}

// For each target the other tokens of the list that are more similar to it than to any other target.
std::vector<std::vector<TokenIndex>> assign_to_targets(const GramView& keys, std::span<const TokenIndex> list,
                                                       std::span<const TokenIndex> targets) {
    std::vector<std::vector<TokenIndex>> assigned(targets.size());
    std::size_t next_target = 0;
    for (const TokenIndex token : list) {
        if (next_target < targets.size() && targets[next_target] == token) {
            ++next_target;
            continue;
        }
        const float* row = keys.data + token * keys.stride;
        std::size_t best = 0;
        for (std::size_t t = 1; t < targets.size(); ++t) {
            if (row[targets[t]] > row[targets[best]]) best = t;
        }
        assigned[best].push_back(token);
    }
    return assigned;
}

void add_contextual(TokenIndex target, std::span<const TokenIndex> assigned, VisionzipMerge merge,
                    Plan& plan) {
    const auto n = static_cast<float>(assigned.size());
    const float share = merge == VisionzipMerge::Sum ? 1.0F / std::max(n, 1.0F) : 1.0F / (n + 1.0F);
    std::vector<MergeSource> sources = {{target, merge == VisionzipMerge::Sum ? 1.0F : share}};
    for (const TokenIndex token : assigned) sources.push_back({token, share});
    plan.merge(target, sources);
}

}  // namespace

Result<Plan> visionzip(std::span<const float> class_attention, const GramView& keys, std::size_t keep,
                       const VisionzipOptions& options) {
    const std::size_t n = class_attention.size();
    CLASP_RETURN_IF_ERROR(check_budget(keep, n));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, n, "class attention"));
    CLASP_RETURN_IF_ERROR(check_cosines(keys, n));
    if (!(options.contextual_share >= 0.0 && options.contextual_share < 1.0)) {
        return Status(Code::InvalidArgument, "the share of contextual tokens " +
                                                 std::to_string(options.contextual_share) +
                                                 " is not in [0, 1)");
    }
    if (keep >= n) return keep_all_tokens(n);

    const std::size_t n_class = options.forwards_class ? 1 : 0;
    const auto n_contextual = std::min(
        static_cast<std::size_t>(std::floor(options.contextual_share * static_cast<double>(keep) + 0.5)),
        keep - n_class);
    const std::vector<TokenIndex> dominant = highest(class_attention, keep - n_class - n_contextual);

    Plan plan;
    if (options.forwards_class) plan.keep(kClassToken, Reason::Pivot);
    for (const TokenIndex token : dominant) plan.keep(token, Reason::Pivot);
    if (n_contextual > 0) {
        const std::vector<TokenIndex> rest = others(n, dominant);
        const std::vector<TokenIndex> targets = evenly_spaced(rest, n_contextual);
        const auto assigned = assign_to_targets(keys, rest, targets);
        for (std::size_t t = 0; t < targets.size(); ++t) {
            add_contextual(targets[t], assigned[t], options.merge, plan);
        }
    }
    return plan;
}

namespace {

class VisionzipRun : public MethodRun {
   public:
    VisionzipRun(const Setup& setup, std::size_t entering) : block_(setup.vision.feature_layer) {
        options_.contextual_share = setup.settings.number("contextual");
        options_.forwards_class = setup.settings.is("class-token", "forward");
        options_.merge = setup.settings.is("merge", "sum") ? VisionzipMerge::Sum : VisionzipMerge::Mean;
        program_.encoder.class_attention = {block_};
        program_.encoder.keys = {block_};
        program_.has_after_encoder = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status after_encoder(const ImageInput& input, Plan& plan) override {
        if (options_.forwards_class && input.class_row == nullptr) {
            return {Code::Unsupported,
                    "visionzip forwards the feature of the class token, which is not there when layers are "
                    "mixed, llama.cpp's numbers are wanted or a picture is cut into several pieces; "
                    "class-token=drop does without"};
        }
        const OwnedRows keys = mean_over_heads(values_of(input.keys, block_), 1, input.n_heads);
        CLASP_ASSIGN_OR_RETURN(const CosineMatrix gram, CosineMatrix::of(keys.view(), input.pool));
        CLASP_ASSIGN_OR_RETURN(
            plan, visionzip(mean_class_attention(input, block_), gram.view(), input.keep, options_));
        return ok_status();
    }

   private:
    std::size_t block_;
    VisionzipOptions options_;
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "visionzip"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "visionzip"));
    return std::unique_ptr<MethodRun>(new VisionzipRun(setup, entering));
}

}  // namespace

Method visionzip_method() {
    return {.name = "visionzip",
            .summary = "the most attended patches, and the rest merged into a few evenly spaced ones",
            .paper = "VisionZip: Longer is Better but Not Necessary in Vision Language Models (CVPR 2025)",
            .merges = true,
            .drops = false,
            .options = {{.name = "contextual",
                         .help = "share of the budget for merged tokens",
                         .fallback = "0.15625",
                         .type = OptionSpec::Type::Number,
                         .min = 0,
                         .max = 0.9},
                        {.name = "class-token",
                         .help = "whether the encoder's class token takes one place",
                         .fallback = "forward",
                         .choices = {"forward", "drop"}},
                        {.name = "merge",
                         .help = "a merged token: its patch plus the mean of the others (the authors' code), "
                                 "or the mean of all",
                         .fallback = "sum",
                         .choices = {"sum", "mean"}}},
            .start = start};
}

}  // namespace clasp::methods
