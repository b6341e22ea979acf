// FastV: once, early in the decoder, the visual tokens that the last token attends to most stay (the authors'
// code), or those that all tokens together attend to most (their paper).
#include <array>
#include <string>

#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/staged.h"

namespace clasp::methods {

namespace {

constexpr std::size_t kPublishedLayer = 2;

class FastvRun : public MethodRun {
   public:
    explicit FastvRun(Program program) { program_ = std::move(program); }

    Status at_stage(const StageInput& input, Plan& plan) override {
        keep_highest(input.live, input.seen.scores.values(), input.keep, plan);
        return ok_status();
    }
};

Result<std::unique_ptr<MethodRun>> start(const Setup& setup) {
    const std::size_t layer = setup.settings.has("layer") ? setup.settings.integer("layer")
                                                          : scaled_layer(kPublishedLayer, setup.n_layers);
    StageNeeds needs;
    needs.scores = true;
    needs.reference = setup.settings.is("faithful", "paper") ? Reference::All : Reference::Last;
    const std::array shapes = {StageShape{layer, 1.0}};
    CLASP_ASSIGN_OR_RETURN(Program program, own_program(setup, shapes, StageMode::After, needs, "fastv"));
    if (needs.reference == Reference::All && program.stages.size() > 1) {
        return Status(
            Code::InvalidArgument,
            "method 'fastv' with faithful=paper asks all tokens of the prompt, which a single stage "
            "can do, not " +
                std::to_string(program.stages.size()));
    }
    return std::unique_ptr<MethodRun>(new FastvRun(std::move(program)));
}

}  // namespace

Method fastv_method() {
    return {.name = "fastv",
            .summary = "one early stage: the tokens that the prompt's last token attends to most",
            .paper = "An Image is Worth 1/2 Tokens After Layer 2 (ECCV 2024)",
            .options = {faithful_option(),
                        {.name = "layer",
                         .help = "first decoder layer that runs on fewer tokens; 2 of 32 unless given",
                         .fallback = "",
                         .type = OptionSpec::Type::Integer,
                         .min = 1,
                         .max = 1024}},
            .start = start};
}

}  // namespace clasp::methods
