// Visual token withdrawal: from one layer on the decoder sees no visual token at all.
#include <cmath>

#include "base/text.h"
#include "methods/methods.h"

namespace clasp::methods {

namespace {

class VtwRun : public MethodRun {
   public:
    VtwRun(const Setup& setup, std::size_t layer) {
        program_.entering = setup.n_visual;
        program_.stages.push_back({.layer = layer, .mode = StageMode::Before, .keep = 0});
    }
    void note(std::string sentence) { program_.notes.push_back(std::move(sentence)); }
};

Status refuse(const std::string& why) {
    return {Code::InvalidArgument, "method 'vtw' " + why};
}

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    if (!setup.stages.empty()) {
        return refuse("keeps no visual token, so stages with counts do not fit it; give its option layer");
    }
    if (setup.settings.has("layer")) {
        const std::size_t layer = setup.settings.integer("layer");
        if (layer >= setup.n_layers) {
            return refuse("cannot withdraw tokens before layer " + std::to_string(layer) +
                          " of a decoder of " + std::to_string(setup.n_layers) + " layers");
        }
        return std::unique_ptr<MethodRun>(new VtwRun(setup, layer));
    }
    if (setup.budget.kind != BudgetKind::Average) {
        return refuse("lets all visual tokens enter and keeps none in the end; give the budget as average");
    }
    // The layers before the withdrawal process every token, the others none.
    const auto n = static_cast<double>(setup.n_visual);
    const double exact = setup.budget.tokens * static_cast<double>(setup.n_layers) / n;
    const double layer = std::floor(exact + 0.5);
    if (layer < 1.0) {
        return refuse("cannot reach an average of " + base::format_number(setup.budget.tokens) +
                      " visual tokens per layer: layer 0 alone processes all " +
                      std::to_string(setup.n_visual) + ", so the smallest possible is " +
                      base::format_number(n / static_cast<double>(setup.n_layers)));
    }
    const auto whole = std::min(static_cast<std::size_t>(layer), setup.n_layers - 1);
    auto run = std::make_unique<VtwRun>(setup, whole);
    const double met = n * static_cast<double>(whole) / static_cast<double>(setup.n_layers);
    if (std::abs(met - setup.budget.tokens) > 0.5) {
        run->note("vtw takes all tokens away at one layer, so averages are multiples of " +
                  base::format_number(n / static_cast<double>(setup.n_layers)) + ": " +
                  base::format_number(met) + " is the nearest to " +
                  base::format_number(setup.budget.tokens));
    }
    return std::unique_ptr<MethodRun>(std::move(run));
}

}  // namespace

Method vtw_method() {
    return {.name = "vtw",
            .summary = "all visual tokens up to one decoder layer, none from there on",
            .paper =
                "Boosting Multimodal Large Language Models with Visual Tokens Withdrawal for Rapid Inference "
                "(AAAI 2025)",
            .drops = false,
            .options = {{.name = "layer",
                         .help = "first decoder layer without visual tokens, instead of the budget's",
                         .fallback = "",
                         .type = OptionSpec::Type::Integer,
                         .min = 1,
                         .max = 1024}},
            .start = start};
}

}  // namespace clasp::methods
