#include "methods/dart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

constexpr std::size_t kPivots = 4;  // visual, and as many in the text
constexpr std::size_t kPublishedLayer = 2;

std::span<const float> row(const FeatureView& rows, std::size_t i) {
    return {rows.data + i * rows.stride, rows.width};
}

double dot(std::span<const float> a, std::span<const float> b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

// Places of the largest norms, largest first.
std::vector<TokenIndex> first_ranked(std::span<const float> norms, std::size_t count) {
    std::vector<TokenIndex> order = ranked(norms);
    order.resize(std::min(count, order.size()));
    return order;
}

class DartRun : public MethodRun {
   public:
    explicit DartRun(Program program) { program_ = std::move(program); }

    Status at_stage(const StageInput& input, Plan& plan) override {
        const DartChoice choice = choose_dart({input.seen.key_norms.values(), input.seen.hidden.view(),
                                               input.text.key_norms.values(), input.text.hidden.view()},
                                              input.keep, kPivots);
        std::vector<std::pair<TokenIndex, Reason>> kept;
        for (const TokenIndex i : choice.pivots) kept.emplace_back(input.live[i], Reason::Pivot);
        for (const TokenIndex i : choice.others) kept.emplace_back(input.live[i], Reason::Coverage);
        std::sort(kept.begin(), kept.end());
        for (const auto& [token, reason] : kept) plan.keep(token, reason);
        return ok_status();
    }
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    const std::size_t layer = setup.settings.has("layer") ? setup.settings.integer("layer")
                                                          : scaled_layer(kPublishedLayer, setup.n_layers);
    StageNeeds needs;
    needs.key_norms = true;
    needs.hidden = StageNeeds::Hidden::FinalNorm;
    needs.text = true;
    const std::array shapes = {StageShape{layer, 1.0}};
    CLASP_ASSIGN_OR_RETURN(Program program, own_program(setup, shapes, StageMode::After, needs, "dart"));
    if (setup.settings.is("count", "code")) {
        for (DecoderStage& stage : program.stages) {
            stage.keep = std::min(setup.n_visual, kPivots + stage.keep / (2 * kPivots) * (2 * kPivots));
        }
    }
    return std::unique_ptr<MethodRun>(new DartRun(std::move(program)));
}

}  // namespace

DartChoice choose_dart(const DartInput& input, std::size_t keep, std::size_t n_pivots) {
    const std::size_t n = input.hidden.rows;
    std::vector<double> lengths(n);
    for (std::size_t i = 0; i < n; ++i) {
        lengths[i] = std::max(1e-12, std::sqrt(dot(row(input.hidden, i), row(input.hidden, i))));
    }
    const std::vector<TokenIndex> visual = first_ranked(input.key_norms, std::min(n_pivots, keep));
    std::vector<std::span<const float>> pivots;
    for (const TokenIndex i : visual) pivots.push_back(row(input.hidden, i));
    for (const TokenIndex i : first_ranked(input.text_key_norms, n_pivots)) {
        pivots.push_back(row(input.text_hidden, i));
    }

    DartChoice choice;
    choice.pivots = visual;
    std::sort(choice.pivots.begin(), choice.pivots.end());
    std::vector<TokenIndex> candidates = others(n, choice.pivots);
    const std::size_t wanted = keep - visual.size();
    for (std::size_t p = 0; p < pivots.size(); ++p) {
        const std::size_t share = wanted / pivots.size() + (p < wanted % pivots.size() ? 1 : 0);
        // Candidates share the pivot's length, so it does not change their order.
        std::vector<float> unlikeness;
        for (const TokenIndex i : candidates) {
            unlikeness.push_back(static_cast<float>(-dot(pivots[p], row(input.hidden, i)) / lengths[i]));
        }
        const std::vector<TokenIndex> picked = highest(unlikeness, share);
        for (const TokenIndex k : picked) choice.others.push_back(candidates[k]);
        std::vector<TokenIndex> left;
        for (const TokenIndex k : others(candidates.size(), picked)) left.push_back(candidates[k]);
        candidates = std::move(left);
    }
    std::sort(choice.others.begin(), choice.others.end());
    return choice;
}

Method dart_method() {
    return {.name = "dart",
            .summary = "one early stage: a few pivots by key norm, and the tokens least like them",
            .paper =
                "Stop Looking for Important Tokens in Multimodal Language Models: Duplication Matters More "
                "(EMNLP 2025)",
            .options = {{.name = "layer",
                         .help = "first decoder layer that runs on fewer tokens; 2 of 32 unless given",
                         .fallback = "",
                         .type = OptionSpec::Type::Integer,
                         .min = 1,
                         .max = 1024},
                        {.name = "count",
                         .help = "keep the budget's count, or the authors' 4 plus 8 equal shares",
                         .fallback = "exact",
                         .choices = {"exact", "code"}}},
            .start = start};
}

}  // namespace clasp::methods
