#include "methods/nuwa.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

Status check_input(const NuwaInput& input, std::size_t keep, const NuwaOptions& options) {
    const std::size_t n = input.scores.size();
    CLASP_RETURN_IF_ERROR(check_budget(keep, n));
    if (input.rows * input.columns != n) {
        return {Code::InvalidArgument, "a grid of " + std::to_string(input.rows) + " x " +
                                           std::to_string(input.columns) + " does not hold " +
                                           std::to_string(n) + " patches"};
    }
    if (options.cell == 0) return {Code::InvalidArgument, "a cell needs at least 1 patch"};
    if (!(options.pillar_quantile >= 0.0 && options.pillar_quantile <= 1.0)) {
        return {Code::InvalidArgument,
                "the quantile " + std::to_string(options.pillar_quantile) + " is outside [0, 1]"};
    }
    CLASP_RETURN_IF_ERROR(check_scores(input.scores, n, "class attention"));
    return check_cosines(input.gram, n);
}

// The patches of each cell, most attended first. Cells at the edge may be smaller.
std::vector<std::vector<TokenIndex>> ranked_cells(const NuwaInput& input, std::size_t cell) {
    const std::size_t cells_per_row = (input.columns + cell - 1) / cell;
    const std::size_t n_cells = (input.rows + cell - 1) / cell * cells_per_row;
    std::vector<std::vector<TokenIndex>> cells(n_cells);
    for (const TokenIndex patch : ranked(input.scores)) {
        const std::size_t row = patch / input.columns / cell;
        const std::size_t column = patch % input.columns / cell;
        cells[row * cells_per_row + column].push_back(patch);
    }
    return cells;
}

std::vector<TokenIndex> candidates_of(const std::vector<std::vector<TokenIndex>>& cells,
                                      std::size_t per_cell) {
    std::vector<TokenIndex> candidates;
    for (const std::vector<TokenIndex>& cell : cells) {
        const std::size_t count = std::min(per_cell, cell.size());
        candidates.insert(candidates.end(), cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(count));
    }
    std::sort(candidates.begin(), candidates.end());
    return candidates;
}

Result<std::vector<TokenIndex>> choose_anchors(const NuwaInput& input, std::size_t keep,
                                               const NuwaOptions& options) {
    const auto cells = ranked_cells(input, options.cell);
    std::size_t per_cell = std::max<std::size_t>(1, options.per_cell);
    std::vector<TokenIndex> candidates = candidates_of(cells, per_cell);
    while (options.per_cell == 0 && candidates.size() < keep) {
        candidates = candidates_of(cells, ++per_cell);
    }
    if (candidates.size() < keep) {
        return Status(Code::InvalidArgument, std::to_string(per_cell) + " candidates per cell are " +
                                                 std::to_string(candidates.size()) +
                                                 " in all, fewer than the budget of " + std::to_string(keep));
    }
    std::vector<float> scores;
    for (const TokenIndex candidate : candidates) scores.push_back(input.scores[candidate]);
    std::vector<TokenIndex> anchors = highest(scores, keep);
    for (TokenIndex& anchor : anchors) anchor = candidates[anchor];
    return anchors;
}

// 1 at the same place, 0 from half a picture on. The authors' radius of sqrt(280) patches is for 24 x 24
// patches and grows with the diagonal here.
double proximity(const NuwaInput& input, TokenIndex a, TokenIndex b) {
    const auto squared = [](double x) { return x * x; };
    const auto rows = static_cast<double>(input.rows);
    const auto columns = static_cast<double>(input.columns);
    const double radius = 280.0 * (rows * rows + columns * columns) / (2.0 * 24.0 * 24.0);
    const auto apart = [](std::size_t x, std::size_t y) {
        return static_cast<double>(x < y ? y - x : x - y);
    };
    const double down = apart(a / input.columns, b / input.columns);
    const double across = apart(a % input.columns, b % input.columns);
    return 1.0 - std::min(std::sqrt((squared(down) + squared(across)) / radius), 1.0);
}

// The anchor plus the mean of what is near and similar.
void add_gathered(const NuwaInput& input, TokenIndex anchor, Plan& plan) {
    const float* row = input.gram.data + anchor * input.gram.stride;
    std::vector<double> weights(input.scores.size());
    double total = 1e-8;
    for (TokenIndex j = 0; j < weights.size(); ++j) {
        weights[j] = std::max(static_cast<double>(row[j]), 0.0) * proximity(input, anchor, j);
        total += weights[j];
    }
    std::vector<MergeSource> sources = {{anchor, 1.0F}};
    for (TokenIndex j = 0; j < weights.size(); ++j) {
        if (j != anchor && weights[j] > 0.0) sources.push_back({j, static_cast<float>(weights[j] / total)});
    }
    plan.merge(anchor, sources);
}

}  // namespace

Result<Plan> nuwa(const NuwaInput& input, std::size_t keep, const NuwaOptions& options) {
    CLASP_RETURN_IF_ERROR(check_input(input, keep, options));
    if (keep >= input.scores.size()) return keep_all_tokens(input.scores.size());
    CLASP_ASSIGN_OR_RETURN(const std::vector<TokenIndex> anchors, choose_anchors(input, keep, options));
    std::vector<float> scores;
    for (const TokenIndex anchor : anchors) scores.push_back(input.scores[anchor]);
    const double pillar_from = quantile(scores, options.pillar_quantile);

    Plan plan;
    for (std::size_t i = 0; i < anchors.size(); ++i) {
        if (static_cast<double>(scores[i]) >= pillar_from) {
            plan.keep(anchors[i], Reason::Pivot);
        } else {
            add_gathered(input, anchors[i], plan);
        }
    }
    return plan;
}

namespace {

// Tokens that enter the decoder and tokens that stay from its middle on, 7 to 1 as published. Layers before
// first_later process the former.
struct NuwaCounts {
    std::size_t entering;
    std::size_t later;
};

Result<NuwaCounts> nuwa_counts(const Setup& setup, std::size_t first_later) {
    constexpr double kRatio = 7.0;
    const auto n_visual = static_cast<double>(setup.n_visual);
    const auto n_before = static_cast<double>(first_later);
    const auto n_after = static_cast<double>(setup.n_layers - first_later);
    double entering = setup.budget.tokens;
    if (setup.budget.kind == BudgetKind::Final) entering *= kRatio;
    if (setup.budget.kind == BudgetKind::Average) {
        entering *= (n_before + n_after) / (n_before + n_after / kRatio);
    }
    double later = entering / kRatio;
    if (entering > n_visual) {
        entering = n_visual;
        if (setup.budget.kind == BudgetKind::Final) later = setup.budget.tokens;
        if (setup.budget.kind == BudgetKind::Average) {
            later = (setup.budget.tokens * (n_before + n_after) - n_before * n_visual) / n_after;
        }
    }
    const auto counted = [](double tokens) { return static_cast<std::size_t>(std::lround(tokens)); };
    if (counted(entering) < 1) {
        return Status(Code::InvalidArgument, "method 'nuwa' cannot keep fewer than 1 token");
    }
    return NuwaCounts{counted(entering), std::clamp<std::size_t>(counted(later), 1, counted(entering))};
}

class NuwaRun : public MethodRun {
   public:
    NuwaRun(const Setup& setup, std::size_t first_later, const NuwaCounts& counts)
        : block_(setup.vision.feature_layer), uses_norms_(setup.settings.is("faithful", "paper")) {
        options_.per_cell = setup.settings.integer("per-cell");
        options_.pillar_quantile = setup.settings.number("quantile");
        program_.encoder.class_attention = {block_};
        if (uses_norms_) program_.encoder.keys = {block_};
        // The authors average blocks 15 to 23 of 24, the features leaving block 22.
        const std::size_t last = block_after_features(setup, "nuwa", program_);
        const std::size_t first = std::min(last, (block_ + 2) * 15 / 24);
        for (std::size_t block = first; block <= last; ++block) program_.encoder.layers.push_back(block);
        program_.has_after_encoder = true;
        program_.uses_grid = true;
        program_.entering = counts.entering;
        StageNeeds needs;
        needs.scores = true;
        needs.reference = Reference::Last;
        program_.stages = {{first_later - 1, StageMode::After, counts.later, needs}};
        program_.positions = PositionMode::Keep;
    }

    Status after_encoder(const ImageInput& input, Plan& plan) override {
        std::vector<float> scores = mean_class_attention(input, block_);
        if (uses_norms_) multiply_by_norms(without_first(values_of(input.keys, block_)), scores);
        CLASP_ASSIGN_OR_RETURN(const CosineMatrix gram,
                               CosineMatrix::of(mean_of(input.layers).view(), input.pool));
        const NuwaInput grid = {scores, gram.view(), input.grid.height, input.grid.width};
        CLASP_ASSIGN_OR_RETURN(plan, nuwa(grid, input.keep, options_));
        return ok_status();
    }

    Status at_stage(const StageInput& input, Plan& plan) override {
        const std::span<const float> scores = input.seen.scores.values();
        CLASP_RETURN_IF_ERROR(check_scores(scores, input.live.size(), "attention"));
        for (const TokenIndex position : highest(scores, input.keep)) {
            plan.keep(input.live[position], Reason::Pivot);
        }
        return ok_status();
    }

   private:
    static void multiply_by_norms(const FeatureView& keys, std::vector<float>& scores) {
        for (std::size_t i = 0; i < keys.rows; ++i) {
            double square = 0;
            for (std::size_t c = 0; c < keys.width; ++c) {
                const auto value = static_cast<double>(keys.data[i * keys.stride + c]);
                square += value * value;
            }
            scores[i] *= static_cast<float>(std::sqrt(square));
        }
    }

    static OwnedRows mean_of(std::span<const BlockValues> layers) {
        OwnedRows mean;
        mean.rows = layers[0].rows.rows;
        mean.width = layers[0].rows.width;
        mean.data.assign(mean.rows * mean.width, 0.0F);
        const float share = 1.0F / static_cast<float>(layers.size());
        for (const BlockValues& layer : layers) {
            for (std::size_t i = 0; i < mean.rows; ++i) {
                const float* row = layer.rows.data + i * layer.rows.stride;
                float* out = mean.data.data() + i * mean.width;
                for (std::size_t c = 0; c < mean.width; ++c) out[c] += share * row[c];
            }
        }
        return mean;
    }

    std::size_t block_;
    bool uses_norms_;
    NuwaOptions options_;
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "nuwa"));
    if (setup.n_layers < 2) {
        return Status(Code::Unsupported, "method 'nuwa' needs a decoder of at least 2 layers");
    }
    const std::size_t first_later = scaled_layer(16, setup.n_layers);
    CLASP_ASSIGN_OR_RETURN(const NuwaCounts counts, nuwa_counts(setup, first_later));
    return std::unique_ptr<MethodRun>(new NuwaRun(setup, first_later, counts));
}

}  // namespace

Method nuwa_method() {
    return {.name = "nuwa",
            .summary = "anchors gather what is near and similar, then half way the decoder drops most",
            .paper = "Nuwa: Mending the Spatial Integrity Torn by VLM Token Pruning",
            .merges = true,
            .drops = false,
            .options = {faithful_option(),
                        {.name = "per-cell",
                         .help = "candidates of each 2 x 2 cell; 0 takes the fewest that suffice",
                         .fallback = "0",
                         .type = OptionSpec::Type::Integer,
                         .min = 0,
                         .max = 4},
                        {.name = "quantile",
                         .help = "of the anchors' attention, from which on they stay as they are",
                         .fallback = "0.55",
                         .type = OptionSpec::Type::Number,
                         .min = 0,
                         .max = 1}},
            .start = start};
}

}  // namespace clasp::methods
