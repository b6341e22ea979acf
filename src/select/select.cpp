#include "clasp/select.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>
#include <string>

#include "select/candidates.h"
#include "select/feature_space.h"
#include "select/gram.h"
#include "select/medoids.h"
#include "select/packed_rows.h"
#include "select/pivots.h"
#include "select/spherical_kmeans.h"
#include "select/workspace.h"

namespace clasp {
namespace {

using selection::Kernels;
using selection::Similarities;
using Buffers = SelectWorkspace::Buffers;

constexpr std::uint32_t kMaxIterations = 1000;

// Milliseconds since the last call.
class Stopwatch {
   public:
    double lap() {
        const auto now = std::chrono::steady_clock::now();
        const std::chrono::duration<double, std::milli> elapsed = now - last_;
        last_ = now;
        return elapsed.count();
    }

   private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Status check_options(const SelectOptions& options) {
    if (options.budget == 0)
        return {Code::InvalidArgument, "the budget is 0, but at least 1 token must stay"};
    if (!(options.split >= 0.0 && options.split <= 1.0)) {
        return {Code::InvalidArgument, "the split " + std::to_string(options.split) + " is outside [0, 1]"};
    }
    if (options.iterations > kMaxIterations) {
        return {Code::InvalidArgument, std::to_string(options.iterations) +
                                           " iterations are more than the limit of " +
                                           std::to_string(kMaxIterations)};
    }
    return ok_status();
}

Status check_input(const SelectInput& input) {
    const bool has_gram = input.gram.data != nullptr;
    const bool has_features = input.features.data != nullptr;
    if (has_gram == has_features) {
        return {Code::InvalidArgument, has_gram ? "both a Gram matrix and features were given"
                                                : "neither a Gram matrix nor features were given"};
    }
    CLASP_RETURN_IF_ERROR(has_gram ? selection::check_gram(input.gram)
                                   : selection::check_features(input.features));
    const std::size_t rows = has_gram ? input.gram.rows : input.features.rows;
    CLASP_RETURN_IF_ERROR(selection::check_live(input.live, rows));
    const std::size_t n_live = input.live.empty() ? rows : input.live.size();
    if (input.scores.size() != n_live) {
        return {Code::InvalidArgument, std::to_string(input.scores.size()) + " scores for " +
                                           std::to_string(n_live) + " live tokens"};
    }
    for (std::size_t i = 0; i < n_live; ++i) {
        if (std::isfinite(input.scores[i])) continue;
        return {Code::InvalidArgument, "the score of token " +
                                           std::to_string(input.live.empty() ? i : input.live[i]) +
                                           " is NaN or infinity"};
    }
    return ok_status();
}

// The Gram matrix to work in, given or built; fills buffers.live_rows with the rows of the live tokens.
Status provide_gram(const SelectInput& input, const Kernels& kernels, ThreadPool* pool, Buffers& buffers,
                    GramView& gram) {
    const std::size_t n_live = input.scores.size();
    buffers.live_rows.resize(n_live);
    if (input.features.data != nullptr) {
        // Only live rows are multiplied, so rows of the matrix are positions among the live tokens.
        std::iota(buffers.live_rows.begin(), buffers.live_rows.end(), 0U);
        const std::size_t stride = selection::round_up(n_live, selection::kRowAlign);
        buffers.gram.resize(n_live * stride);
        gram = {buffers.gram.data(), n_live, stride};
        return selection::gram_of_rows(input.features, input.live, buffers, kernels, pool,
                                       buffers.gram.data(), stride);
    }
    if (input.live.empty()) {
        std::iota(buffers.live_rows.begin(), buffers.live_rows.end(), 0U);
    } else {
        buffers.live_rows.assign(input.live.begin(), input.live.end());
    }
    gram = input.gram;
    return selection::check_entries(gram, kernels, pool, buffers);
}

void clear(SelectPlan& plan) {
    plan.kept.clear();
    plan.reasons.clear();
    plan.pivots.clear();
    plan.coverage.clear();
    plan.seeds.clear();
    plan.objective.clear();
    plan.iterations = 0;
    plan.timings = {};
}

void keep_all(std::span<const TokenIndex> live, std::size_t n_live, SelectPlan& plan) {
    plan.kept.resize(n_live);
    if (live.empty()) {
        std::iota(plan.kept.begin(), plan.kept.end(), 0U);
    } else {
        plan.kept.assign(live.begin(), live.end());
    }
    plan.reasons.assign(n_live, KeepReason::All);
}

void list_seeds(const Buffers& buffers, SelectPlan& plan) {
    for (const std::uint32_t candidate : buffers.seeds)
        plan.seeds.push_back(buffers.candidate_tokens[candidate]);
}

void list_coverage(Buffers& buffers, SelectPlan& plan) {
    std::sort(buffers.chosen.begin(), buffers.chosen.end());
    for (const std::uint32_t candidate : buffers.chosen) {
        plan.coverage.push_back(buffers.candidate_tokens[candidate]);
    }
}

// Stage II: n_slots coverage tokens among the candidates, left in plan.coverage.
void choose_coverage(const GramView& gram, std::size_t n_slots, const SelectOptions& options,
                     const Kernels& kernels, ThreadPool* pool, Buffers& buffers, Stopwatch& watch,
                     SelectPlan& plan) {
    const bool has_pivots = !buffers.pivot_rows.empty();
    const Similarities similarities = selection::gather_similarities(gram, kernels, pool, buffers);
    if (has_pivots) {
        selection::redundancy_to_pivots(gram, kernels, buffers);
    } else {
        selection::redundancy_to_mean(similarities, kernels, buffers);
    }
    selection::choose_seeds(n_slots, options.seed, similarities.one, buffers);
    list_seeds(buffers, plan);
    plan.timings.seeds_ms = watch.lap();

    if (options.iterations > 0) {
        plan.iterations = selection::spherical_kmeans(similarities, options.iterations, kernels, pool,
                                                      buffers, plan.objective);
        plan.timings.clusters_ms = watch.lap();
        selection::choose_medoids(similarities, buffers);
        selection::fill_slots(similarities, n_slots, has_pivots, kernels, buffers);
    } else {
        buffers.chosen.assign(buffers.seeds.begin(), buffers.seeds.end());
    }
    list_coverage(buffers, plan);
    plan.timings.medoids_ms = watch.lap();
}

// The same from the features, for many tokens.
Status choose_coverage_of_features(const FeatureView& features, std::size_t n_slots,
                                   const SelectOptions& options, const Kernels& kernels, ThreadPool* pool,
                                   Buffers& buffers, Stopwatch& watch, SelectPlan& plan) {
    selection::FeatureSpace space(features, kernels, pool, buffers);
    CLASP_RETURN_IF_ERROR(space.pack(plan.pivots));
    space.find_redundancy(plan.pivots.size());
    selection::choose_seeds(n_slots, options.seed, space.one(), buffers);
    list_seeds(buffers, plan);
    plan.timings.seeds_ms = watch.lap();
    if (options.iterations > 0) {
        plan.iterations = space.cluster(options.iterations, plan.objective);
        plan.timings.clusters_ms = watch.lap();
        space.choose_medoids();
        space.fill_slots(n_slots, !plan.pivots.empty());
    } else {
        buffers.chosen.assign(buffers.seeds.begin(), buffers.seeds.end());
    }
    list_coverage(buffers, plan);
    plan.timings.medoids_ms = watch.lap();
    return ok_status();
}

void merge_kept(SelectPlan& plan) {
    auto pivot = plan.pivots.begin();
    auto coverage = plan.coverage.begin();
    while (pivot != plan.pivots.end() || coverage != plan.coverage.end()) {
        const bool is_pivot =
            coverage == plan.coverage.end() || (pivot != plan.pivots.end() && *pivot < *coverage);
        plan.kept.push_back(is_pivot ? *pivot++ : *coverage++);
        plan.reasons.push_back(is_pivot ? KeepReason::Pivot : KeepReason::Coverage);
    }
}

Status select_tokens(const SelectInput& input, const SelectOptions& options, Buffers& buffers,
                     ThreadPool* pool, SelectPlan& plan) {
    const Kernels& kernels = selection::active_kernels();
    Stopwatch watch;
    const std::size_t n_live = input.scores.size();
    const bool has_matrix = input.features.data == nullptr || n_live <= options.gram_limit;
    GramView gram;
    if (has_matrix) {
        CLASP_RETURN_IF_ERROR(provide_gram(input, kernels, pool, buffers, gram));
    } else {
        buffers.live_rows.resize(n_live);
        std::iota(buffers.live_rows.begin(), buffers.live_rows.end(), 0U);
        CLASP_RETURN_IF_ERROR(selection::measure_rows(input.features, input.live, kernels, pool, buffers));
    }
    (input.features.data != nullptr ? plan.timings.gram_ms : plan.timings.pivots_ms) = watch.lap();

    if (options.budget >= n_live) {
        keep_all(input.live, n_live, plan);
        return ok_status();
    }
    const std::size_t n_pivots = pivot_count(options.split, options.budget);
    selection::choose_pivots(input.scores, n_pivots, buffers);
    selection::split_live(input.live, buffers);
    for (std::size_t i = 0; i < n_live; ++i) {
        if (buffers.is_pivot[i] == 0) continue;
        plan.pivots.push_back(input.live.empty() ? static_cast<TokenIndex>(i) : input.live[i]);
    }
    plan.timings.pivots_ms += watch.lap();

    const std::size_t n_slots = options.budget - n_pivots;
    if (n_slots > 0 && has_matrix) {
        choose_coverage(gram, n_slots, options, kernels, pool, buffers, watch, plan);
    } else if (n_slots > 0) {
        CLASP_RETURN_IF_ERROR(choose_coverage_of_features(input.features, n_slots, options, kernels, pool,
                                                          buffers, watch, plan));
    }
    merge_kept(plan);
    return ok_status();
}

}  // namespace

SelectWorkspace::SelectWorkspace() = default;
SelectWorkspace::~SelectWorkspace() = default;
SelectWorkspace::SelectWorkspace(SelectWorkspace&&) noexcept = default;
SelectWorkspace& SelectWorkspace::operator=(SelectWorkspace&&) noexcept = default;

SelectWorkspace::Buffers& SelectWorkspace::buffers() {
    if (buffers_ == nullptr) buffers_ = std::make_unique<Buffers>();
    return *buffers_;
}

std::string_view keep_reason_name(KeepReason reason) {
    switch (reason) {
        case KeepReason::Pivot: return "pivot";
        case KeepReason::Coverage: return "coverage";
        case KeepReason::All: return "all";
    }
    return "unknown";
}

std::size_t pivot_count(double split, std::size_t budget) {
    const auto n_budget = static_cast<double>(budget);
    const double product = split * n_budget;
    return std::min(budget, static_cast<std::size_t>(std::floor(product + 1e-7 * n_budget)));
}

Status select(const SelectInput& input, const SelectOptions& options, SelectWorkspace& workspace,
              ThreadPool* pool, SelectPlan& plan) {
    Stopwatch watch;
    clear(plan);
    CLASP_RETURN_IF_ERROR(check_options(options));
    CLASP_RETURN_IF_ERROR(check_input(input));
    try {
        CLASP_RETURN_IF_ERROR(select_tokens(input, options, workspace.buffers(), pool, plan));
    } catch (const std::bad_alloc&) {
        return {Code::OutOfMemory,
                "no memory to select among " + std::to_string(input.scores.size()) + " tokens"};
    }
    plan.timings.total_ms = watch.lap();
    return ok_status();
}

}  // namespace clasp
