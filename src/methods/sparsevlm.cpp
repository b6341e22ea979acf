#include "methods/sparsevlm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "methods/density_peaks.h"
#include "methods/early_stage.h"
#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

constexpr std::array<std::size_t, 3> kLayers = {2, 6, 15};  // whose output is pruned
constexpr std::size_t kPublishedTokens = 576;
constexpr std::size_t kPublishedHeads = 14;  // of 32

struct PublishedKeeps {
    double budget;
    std::array<std::size_t, 3> keeps;
};
constexpr std::array<PublishedKeeps, 4> kVersion15 = {
    {{192, {300, 200, 110}}, {128, {303, 110, 36}}, {96, {238, 48, 26}}, {64, {66, 30, 17}}}};
constexpr std::array<PublishedKeeps, 4> kPlus = {
    {{192, {300, 200, 118}}, {128, {238, 108, 60}}, {96, {246, 54, 28}}, {64, {66, 34, 20}}}};

const PublishedKeeps& nearest_row(bool is_plus, double share) {
    const auto& rows = is_plus ? kPlus : kVersion15;
    return *std::min_element(rows.begin(), rows.end(), [&](const PublishedKeeps& a, const PublishedKeeps& b) {
        const auto gap = [&](const PublishedKeeps& row) {
            return std::abs(row.budget / static_cast<double>(kPublishedTokens) - share);
        };
        return gap(a) < gap(b);
    });
}

// What a budget counts, when proportion 1 means `first` tokens at the first stage.
struct Trial {
    std::vector<std::size_t> keeps;
    double figure = 0.0;
};

Trial try_first(const SparsevlmCounts& request, const std::array<std::size_t, 3>& row, std::size_t first,
                BudgetKind kind) {
    Trial trial;
    std::vector<StageShape> shapes;
    std::size_t live = request.n_visual;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const double scaled = static_cast<double>(first * row[i]) / static_cast<double>(row[0]);
        live = std::min(live, std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(scaled))));
        trial.keeps.push_back(live);
        shapes.push_back({request.layers[i], 1.0});
    }
    const std::vector<std::size_t> counts =
        request.recycles ? counts_with_recycling(request.n_visual, trial.keeps) : trial.keeps;
    trial.figure = kind == BudgetKind::Final
                       ? static_cast<double>(counts.back())
                       : layer_average(request.n_visual, request.n_layers, shapes, counts);
    return trial;
}

class SparsevlmRun : public MethodRun {
   public:
    SparsevlmRun(Program program, bool recycles, bool with_sums, double head_share)
        : recycles_(recycles), with_sums_(with_sums), head_share_(head_share) {
        program_ = std::move(program);
        program_.positions = recycles ? PositionMode::Compact : PositionMode::Keep;
    }

    Status at_stage(const StageInput& input, Plan& plan) override {
        if (recycles_) {
            plan = recycle(input.live, input.seen.scores.values(), input.seen.hidden.view(), input.keep,
                           with_sums_);
            return ok_status();
        }
        const auto wanted =
            static_cast<std::size_t>(std::lround(head_share_ * static_cast<double>(input.n_heads)));
        const std::vector<float> scores =
            corrected_scores(input.seen.rows.view(), input.seen.rotation_bias.view(), input.n_heads,
                             std::max<std::size_t>(1, wanted));
        keep_highest(input.live, scores, input.keep, plan);
        return ok_status();
    }

   private:
    bool recycles_;
    bool with_sums_;
    double head_share_;
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup, bool is_plus) {
    const std::string_view name = is_plus ? "sparsevlm+" : "sparsevlm";
    StageNeeds needs;
    needs.scores = !is_plus;
    if (is_plus) needs.rows = StageNeeds::Rows::PerHead;
    needs.reference = Reference::Raters;
    if (!is_plus) needs.hidden = StageNeeds::Hidden::Raw;
    Setup own = setup;
    std::string note;
    if (own.stages.empty()) {
        SparsevlmCounts counts;
        counts.n_visual = setup.n_visual;
        counts.n_layers = setup.n_layers;
        // Shallow decoders may put the stages closer together than one layer apart.
        const std::vector<std::size_t> layers = scaled_layers(kLayers, setup.n_layers);
        for (std::size_t i = 0; i < layers.size(); ++i) counts.layers[i] = layers[i] + 1;
        counts.published = setup.settings.is("counts", "published");
        if (!counts.published) note = bring_forward(setup, name, counts.layers[0]);
        counts.recycles = !is_plus;
        counts.is_plus = is_plus;
        CLASP_ASSIGN_OR_RETURN(const std::vector<std::size_t> keeps, sparsevlm_keeps(counts, setup.budget));
        for (std::size_t i = 0; i < keeps.size(); ++i) own.stages.push_back({counts.layers[i], keeps[i]});
    }
    CLASP_ASSIGN_OR_RETURN(Program program, own_program(own, {}, StageMode::After, needs, name));
    if (!note.empty()) program.notes.push_back(note);
    return std::unique_ptr<MethodRun>(new SparsevlmRun(std::move(program), !is_plus,
                                                       !is_plus && setup.settings.is("faithful", "paper"),
                                                       static_cast<double>(kPublishedHeads) / 32.0));
}

OptionSpec counts_option() {
    return {.name = "counts",
            .help = "stage counts that meet the budget, or the published ones where there are some",
            .fallback = "solved",
            .choices = {"solved", "published"}};
}

}  // namespace

std::size_t recycled_count(std::size_t n_dropped) {
    if (n_dropped == 0) return 0;
    const std::size_t best = n_dropped * 3 / 10 + 1;
    return best / 10 + 1;
}

std::vector<std::size_t> counts_with_recycling(std::size_t n_visual, std::span<const std::size_t> keeps) {
    std::vector<std::size_t> counts;
    std::size_t live = n_visual;
    for (const std::size_t keep : keeps) {
        if (keep < live) live = keep + recycled_count(live - keep);
        counts.push_back(live);
    }
    return counts;
}

Result<std::vector<std::size_t>> sparsevlm_keeps(const SparsevlmCounts& request, const Budget& budget) {
    const std::string name = request.is_plus ? "method 'sparsevlm+' " : "method 'sparsevlm' ";
    if (budget.kind == BudgetKind::Entering) {
        return Status(Code::InvalidArgument,
                      name + "drops tokens inside the decoder, so all " + std::to_string(request.n_visual) +
                          " visual tokens enter it; give the budget as average or final");
    }
    if (request.layers.back() >= request.n_layers) {
        return Status(Code::InvalidArgument, name + "needs a decoder of more than " +
                                                 std::to_string(request.layers.back()) + " layers, not " +
                                                 std::to_string(request.n_layers));
    }
    const double share = budget.tokens / static_cast<double>(request.n_visual);
    const PublishedKeeps& row = nearest_row(request.is_plus, share);
    if (request.published && request.n_visual == kPublishedTokens &&
        std::abs(row.budget - budget.tokens) < 0.5) {
        return std::vector<std::size_t>(row.keeps.begin(), row.keeps.end());
    }
    const Trial least = try_first(request, row.keeps, 1, budget.kind);
    if (budget.tokens < least.figure - 0.5) {
        return Status(Code::InvalidArgument,
                      name + "cannot reach " + base::format_number(budget.tokens) +
                          " visual tokens; layers 0 to " + std::to_string(request.layers.front() - 1) +
                          " process all " + std::to_string(request.n_visual) +
                          ", so the smallest possible is " + base::format_number(std::ceil(least.figure)));
    }
    Trial best = least;
    for (std::size_t first = 2; first <= request.n_visual * 4; ++first) {
        Trial trial = try_first(request, row.keeps, first, budget.kind);
        if (std::abs(trial.figure - budget.tokens) < std::abs(best.figure - budget.tokens)) {
            best = std::move(trial);
        }
    }
    return best.keeps;
}

Plan recycle(std::span<const TokenIndex> live, std::span<const float> scores, const FeatureView& hidden,
             std::size_t keep, bool with_sums) {
    Plan plan;
    const std::vector<TokenIndex> kept = highest(scores, keep);
    for (const TokenIndex i : kept) plan.keep(live[i], Reason::Pivot);
    const std::vector<TokenIndex> dropped = others(live.size(), kept);
    if (dropped.empty()) return plan;
    std::vector<float> dropped_scores;
    for (const TokenIndex i : dropped) dropped_scores.push_back(scores[i]);
    const std::size_t n_best = dropped.size() * 3 / 10 + 1;
    // Rows of the best of the dropped, in the order of their scores as the authors' code has them.
    std::vector<TokenIndex> order = ranked(dropped_scores);
    order.resize(n_best);
    std::vector<float> rows;
    for (const TokenIndex k : order) {
        const float* row = hidden.data + dropped[k] * hidden.stride;
        rows.insert(rows.end(), row, row + hidden.width);
    }
    const Clusters clusters = cluster_by_density({rows.data(), n_best, hidden.width, hidden.width},
                                                 recycled_count(dropped.size()), with_sums);
    for (std::size_t c = 0; c < clusters.centres.size(); ++c) {
        std::vector<MergeSource> sources;
        for (std::size_t k = 0; k < n_best; ++k) {
            if (clusters.cluster_of[k] == c) sources.push_back({live[dropped[order[k]]], 1.0F});
        }
        const float weight = with_sums ? 1.0F : 1.0F / (static_cast<float>(sources.size()) + 1e-6F);
        for (MergeSource& source : sources) source.weight = weight;
        plan.merge(live[dropped[order[clusters.centres[c]]]], sources);
    }
    return plan;
}

std::vector<float> corrected_scores(const FeatureView& rows, const FeatureView& bias, std::size_t n_heads,
                                    std::size_t n_best) {
    constexpr float kSmallest = 1e-6F;
    const std::size_t n_references = rows.rows / n_heads;
    const std::size_t n = rows.width;
    std::vector<std::vector<double>> per_head(n_heads, std::vector<double>(n, 0.0));
    std::vector<float> sums(n_heads, 0.0F);
    for (std::size_t head = 0; head < n_heads; ++head) {
        double total = 0.0;
        for (std::size_t r = 0; r < n_references; ++r) {
            const float* row = rows.data + (head * n_references + r) * rows.stride;
            const float* divisor = bias.data + r * bias.stride;
            for (std::size_t i = 0; i < n; ++i) {
                const float size = std::max(std::abs(divisor[i]), kSmallest);
                const float value = row[i] / (divisor[i] < 0.0F ? -size : size);
                per_head[head][i] += static_cast<double>(value);
                total += static_cast<double>(value);
            }
        }
        sums[head] = static_cast<float>(total);
    }
    std::vector<double> mean(n, 0.0);
    const std::vector<TokenIndex> best = highest(sums, std::min(n_best, n_heads));
    for (const TokenIndex head : best) {
        for (std::size_t i = 0; i < n; ++i) mean[i] += per_head[head][i];
    }
    std::vector<float> scores;
    const double count = static_cast<double>(best.size() * n_references);
    for (const double value : mean) scores.push_back(static_cast<float>(value / count));
    return scores;
}

Method sparsevlm_method() {
    return {.name = "sparsevlm",
            .summary = "three stages rated by chosen text tokens; part of what is dropped comes back merged",
            .paper =
                "SparseVLM: Visual Token Sparsification for Efficient Vision-Language Model Inference (ICML "
                "2025)",
            .merges = true,
            .options = {faithful_option(), counts_option()},
            .start = [](const Setup& setup) { return start(setup, false); }};
}

Method sparsevlm_plus_method() {
    return {
        .name = "sparsevlm+",
        .summary = "three stages rated by chosen text tokens, their attention freed of the rotation's bias",
        .paper =
            "SparseVLM: Visual Token Sparsification for Efficient Vision-Language Model Inference, later "
            "version",
        .options = {counts_option()},
        .start = [](const Setup& setup) { return start(setup, true); }};
}

}  // namespace clasp::methods
