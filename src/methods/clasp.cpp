// The paper's dual-stage selection, its variant with masses, and its relevance half alone.
#include "methods/methods.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

class DualRun : public MethodRun {
   public:
    // split: the share of pivots; none: the class's.
    DualRun(const Setup& setup, std::optional<double> split) : split_(split) {
        StageNeeds needs;
        needs.scores = true;
        needs.gram = true;
        program_ = staged_program(setup, needs);
    }

    Status at_stage(const StageInput& input, Plan& plan) override {
        SelectInput request;
        request.gram = input.gram;
        request.features = input.features;
        request.live = input.live;
        request.scores = input.seen.scores.values();
        SelectOptions options;
        options.budget = input.keep;
        options.split = split_.value_or(input.split);
        options.iterations = input.iterations;
        options.seed = input.seed;
        CLASP_RETURN_IF_ERROR(select(request, options, workspace_, input.pool, selected_));
        for (std::size_t i = 0; i < selected_.kept.size(); ++i) {
            plan.keep(selected_.kept[i],
                      selected_.reasons[i] == KeepReason::Pivot ? Reason::Pivot : Reason::Coverage);
        }
        return ok_status();
    }

   private:
    std::optional<double> split_;
    SelectWorkspace workspace_;
    SelectPlan selected_;
};

Result<std::unique_ptr<MethodRun>> start_dual(const Setup& setup) {
    return std::unique_ptr<MethodRun>(new DualRun(setup, std::nullopt));
}

Result<std::unique_ptr<MethodRun>> start_attention(const Setup& setup) {
    return std::unique_ptr<MethodRun>(new DualRun(setup, 1.0));
}

}  // namespace

Method clasp_method() {
    return {
        .name = "clasp",
        .summary = "attention pivots, then spherical k-means coverage, as published",
        .paper =
            "CLASP: Class-Adaptive Layer Fusion and Dual-Stage Pruning for Multimodal Large Language Models",
        .mixes_layers = true,
        .uses_schedule = true,
        .start = start_dual};
}

Method clasp_plus_method() {
    return {.name = "clasp+",
            .summary = "clasp whose dropped tokens leave their mass to their nearest survivor",
            .paper = "CLASP's, with masses of our own",
            .uses_masses = true,
            .without_masses = "clasp",
            .mixes_layers = true,
            .uses_schedule = true,
            .start = start_dual};
}

Method attention_method() {
    return {.name = "attention",
            .summary = "the highest attention scores alone",
            .mixes_layers = true,
            .uses_schedule = true,
            .start = start_attention};
}

}  // namespace clasp::methods
