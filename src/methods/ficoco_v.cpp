#include "methods/ficoco_v.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "methods/encoder_merge.h"
#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

std::span<const float> row_of(const FicocoInput& input, std::size_t i) {
    return {input.logits + i * input.stride, input.origins.size()};
}

Status check_input(const FicocoInput& input, std::size_t n_removed, const FicocoOptions& options) {
    const std::size_t n = input.origins.size();
    CLASP_RETURN_IF_ERROR(check_budget(1, n));
    if (n_removed >= n) {
        return {Code::InvalidArgument, "of " + std::to_string(n) + " patches " + std::to_string(n_removed) +
                                           " cannot be removed: at least 1 must stay"};
    }
    if (options.window == 0) return {Code::InvalidArgument, "a window needs at least 1 patch"};
    if (!(options.target_quantile >= 0.0 && options.target_quantile <= 1.0)) {
        return {Code::InvalidArgument,
                "the quantile " + std::to_string(options.target_quantile) + " is outside [0, 1]"};
    }
    if (input.logits == nullptr || input.stride < n) {
        return {Code::InvalidArgument, "the stride " + std::to_string(input.stride) +
                                           " of the logits is below the number of patches " +
                                           std::to_string(n)};
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (input.origins[i] >= input.rows * input.columns ||
            (i > 0 && input.origins[i] <= input.origins[i - 1])) {
            return {Code::InvalidArgument, "original patch " + std::to_string(input.origins[i]) +
                                               " is out of order or not in the grid of " +
                                               std::to_string(input.rows) + " x " +
                                               std::to_string(input.columns)};
        }
    }
    CLASP_RETURN_IF_ERROR(check_scores(input.class_logits, n, "class token's logit"));
    for (std::size_t i = 0; i < n; ++i) CLASP_RETURN_IF_ERROR(check_scores(row_of(input, i), n, "logit"));
    return ok_status();
}

void normalise(std::vector<double>& values) {
    double square = 0;
    for (const double value : values) square += value * value;
    const double length = std::max(std::sqrt(square), 1e-12);
    for (double& value : values) value /= length;
}

// Low is redundant.
std::vector<float> keepness(const FicocoInput& input, FicocoFaithful faithful) {
    const std::size_t n = input.origins.size();
    std::vector<double> attention(n, 0.0);
    std::vector<double> from_class(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::span<const float> row = row_of(input, i);
        for (std::size_t j = 0; j < n; ++j) {
            attention[faithful == FicocoFaithful::Code ? i : j] += static_cast<double>(row[j]);
        }
        from_class[i] = static_cast<double>(input.class_logits[i]);
    }
    normalise(attention);
    normalise(from_class);
    const double class_share = faithful == FicocoFaithful::Code ? 0.35 : 0.65;
    std::vector<float> result(n);
    for (std::size_t i = 0; i < n; ++i) {
        result[i] = static_cast<float>(class_share * from_class[i] - (1.0 - class_share) * attention[i]);
    }
    return result;
}

// The most redundant patch of each window counts twice as redundant, so that merging spreads.
void penalise_windows(const FicocoInput& input, std::size_t window, std::vector<float>& keep) {
    std::map<std::size_t, std::size_t> lowest;  // per window the current patch
    const std::size_t windows_per_row = (input.columns + window - 1) / window;
    for (std::size_t i = 0; i < keep.size(); ++i) {
        const std::size_t row = input.origins[i] / input.columns / window;
        const std::size_t column = input.origins[i] % input.columns / window;
        const auto [entry, is_new] = lowest.try_emplace(row * windows_per_row + column, i);
        if (!is_new && keep[i] < keep[entry->second]) entry->second = i;
    }
    for (const auto& [index, patch] : lowest) keep[patch] *= keep[patch] > 0.0F ? 0.5F : 2.0F;
}

struct Share {
    TokenIndex source;
    double weight;
};

// Per patch what goes into it.
std::vector<std::vector<Share>> distribute(const FicocoInput& input, std::span<const TokenIndex> removed,
                                           double target_quantile) {
    std::vector<bool> is_removed(input.origins.size(), false);
    for (const TokenIndex source : removed) is_removed[source] = true;
    std::vector<std::vector<Share>> arrivals(input.origins.size());
    for (const TokenIndex source : removed) {
        const std::span<const float> row = row_of(input, source);
        const double threshold = quantile(row, target_quantile);
        const double largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
        std::vector<Share> targets;
        double total = 0;
        for (TokenIndex j = 0; j < row.size(); ++j) {
            const double logit = static_cast<double>(row[j]);
            if (is_removed[j] || !(logit > threshold)) continue;
            targets.push_back({j, std::exp(logit - largest)});
            total += targets.back().weight;
        }
        if (!(total > 0.0)) continue;
        for (const Share& target : targets)
            arrivals[target.source].push_back({source, target.weight / total});
    }
    return arrivals;
}

}  // namespace

Result<Plan> ficoco_step(const FicocoInput& input, std::size_t n_removed, const FicocoOptions& options) {
    CLASP_RETURN_IF_ERROR(check_input(input, n_removed, options));
    const std::size_t n = input.origins.size();
    if (n_removed == 0) return keep_all_tokens(n);

    std::vector<float> keep = keepness(input, options.faithful);
    penalise_windows(input, options.window, keep);
    std::vector<float> redundancy;
    for (const float value : keep) redundancy.push_back(-value);
    const std::vector<TokenIndex> removed = highest(redundancy, n_removed);
    const auto arrivals = distribute(input, removed, options.target_quantile);

    Plan plan;
    for (const TokenIndex target : others(n, removed)) {
        double total = 1.0;
        for (const Share& share : arrivals[target]) total += share.weight;
        if (arrivals[target].empty()) {
            plan.keep(target, Reason::Coverage);
            continue;
        }
        std::vector<MergeSource> sources = {{target, static_cast<float>(1.0 / total)}};
        for (const Share& share : arrivals[target]) {
            sources.push_back({share.source, static_cast<float>(share.weight / total)});
        }
        plan.merge(target, sources);
    }
    return plan;
}

namespace {

class FicocoRun : public MethodRun {
   public:
    FicocoRun(const Setup& setup, std::size_t entering, std::size_t first_block) {
        options_.faithful =
            setup.settings.is("faithful", "paper") ? FicocoFaithful::Paper : FicocoFaithful::Code;
        for (std::size_t block = first_block; block <= setup.vision.feature_layer; ++block) {
            program_.encoder_blocks.push_back(block);
        }
        program_.encoder.block_logits = true;
        program_.keeps_encoder_order = true;
        program_.uses_grid = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status inside_encoder(const BlockInput& input, Plan& plan) override {
        const std::size_t number = input.block - program_.encoder_blocks.front();
        if (number == 0) {
            origins_.resize(input.grid.size());
            std::iota(origins_.begin(), origins_.end(), 0U);
        }
        CLASP_ASSIGN_OR_RETURN(
            const std::vector<std::size_t> left,
            spread_over_blocks(input.grid.size(), input.keep, program_.encoder_blocks.size(), false));
        FicocoInput block;
        block.logits = input.logits.data() + input.n_rows + 1;
        block.stride = input.n_rows;
        block.class_logits = input.logits.subspan(1, input.n_rows - 1);
        block.origins = origins_;
        block.rows = input.grid.height;
        block.columns = input.grid.width;
        CLASP_ASSIGN_OR_RETURN(const Plan patches,
                               ficoco_step(block, origins_.size() - left[number], options_));
        plan.keep(0, Reason::Coverage);
        std::vector<TokenIndex> origins;
        std::vector<MergeSource> sources;
        for (std::size_t i = 0; i < patches.size(); ++i) {
            origins.push_back(origins_[patches.kept[i]]);
            sources.assign(patches.sources(i).begin(), patches.sources(i).end());
            for (MergeSource& source : sources) ++source.row;
            if (sources.empty()) {
                plan.keep(patches.kept[i] + 1, patches.reasons[i]);
            } else {
                plan.merge(patches.kept[i] + 1, sources);
            }
        }
        origins_ = std::move(origins);
        return ok_status();
    }

   private:
    FicocoOptions options_;
    std::vector<TokenIndex> origins_;  // original patch of each current one; blocks of one image follow
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "ficoco-v"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "ficoco-v"));
    // The authors merge in the second half of 24 blocks, of which the features leave the last but one.
    std::size_t first_block = std::min((setup.vision.feature_layer + 2) / 2, setup.vision.feature_layer);
    if (setup.settings.has("start")) first_block = setup.settings.integer("start");
    if (first_block > setup.vision.feature_layer) {
        return Status(Code::InvalidArgument, "ficoco-v cannot start at block " + std::to_string(first_block) +
                                                 ": the features leave the encoder after block " +
                                                 std::to_string(setup.vision.feature_layer));
    }
    return std::unique_ptr<MethodRun>(new FicocoRun(setup, entering, first_block));
}

}  // namespace

Method ficoco_v_method() {
    return {.name = "ficoco-v",
            .summary = "redundant patches merge into those they attend to, in the encoder's second half",
            .paper =
                "Filter, Correlate, Compress: Training-Free Token Reduction for MLLM Acceleration (arXiv "
                "2411.17686)",
            .merges = true,
            .drops = false,
            .options = {faithful_option(),
                        {.name = "start",
                         .help = "first block that merges; the middle of the encoder if not given",
                         .fallback = "",
                         .type = OptionSpec::Type::Integer,
                         .min = 0,
                         .max = 1000}},
            .start = start};
}

}  // namespace clasp::methods
