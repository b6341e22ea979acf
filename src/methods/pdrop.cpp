// PyramidDrop: at a few layers the tokens that the last token attends to most stay, ever fewer.
#include <array>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

class PdropRun : public MethodRun {
   public:
    explicit PdropRun(Program program) {
        program_ = std::move(program);
        program_.positions = PositionMode::Compact;
    }

    Status at_stage(const StageInput& input, Plan& plan) override {
        keep_highest(input.live, input.seen.scores.values(), input.keep, plan);
        return ok_status();
    }
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    constexpr std::array<std::size_t, 3> kEarly = {2, 10, 20};
    constexpr std::array<std::size_t, 3> kPublished = {8, 16, 24};
    const auto layers =
        scaled_layers(setup.settings.is("layers", "early") ? kEarly : kPublished, setup.n_layers);
    const double ratio = setup.settings.number("ratio");
    const std::array shapes = {StageShape{layers[0], 1.0}, StageShape{layers[1], ratio},
                               StageShape{layers[2], ratio * ratio}};
    StageNeeds needs;
    needs.scores = true;
    needs.reference = Reference::Last;
    CLASP_ASSIGN_OR_RETURN(Program program, own_program(setup, shapes, StageMode::Before, needs, "pdrop"));
    return std::unique_ptr<MethodRun>(new PdropRun(std::move(program)));
}

}  // namespace

Method pdrop_method() {
    return {.name = "pdrop",
            .summary = "three stages, each keeping the tokens that the prompt's last token attends to most",
            .paper =
                "PyramidDrop: Accelerating Your Large Vision-Language Models via Pyramid Visual Redundancy "
                "Reduction (CVPR 2025)",
            .options = {{.name = "layers",
                         .help = "stages before layers 2, 10, 20 (early) or 8, 16, 24 (published) of 32",
                         .fallback = "early",
                         .choices = {"early", "published"}},
                        {.name = "ratio",
                         .help = "count of a stage relative to the one before",
                         .fallback = "0.5",
                         .type = OptionSpec::Type::Number,
                         .min = 0.01,
                         .max = 1}},
            .start = start};
}

}  // namespace clasp::methods
