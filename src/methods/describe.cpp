#include "methods/describe.h"

namespace clasp::methods {

namespace {

Result<Setup> usual_setup(const Method& method) {
    Setup setup;
    setup.grids = {{24, 24}};
    setup.n_visual = 576;
    setup.n_layers = 32;
    setup.vision = {.n_blocks = 23, .feature_layer = 22, .width = 1024, .n_heads = 16};
    setup.budget = {192.0, BudgetKind::Average};
    if (method.uses_schedule) setup.stages = {{2, 300}, {6, 200}, {15, 110}};
    setup.split = 0.7;
    CLASP_ASSIGN_OR_RETURN(setup.settings, Settings::read(method.name, method.options, {}));
    return setup;
}

}  // namespace

Result<Description> describe(const Method& method) {
    CLASP_ASSIGN_OR_RETURN(const Setup setup, usual_setup(method));
    CLASP_ASSIGN_OR_RETURN(const auto run, method.start(setup));
    const Program& program = run->program();
    Description description;
    if (!program.encoder_blocks.empty()) description.sites.emplace_back("inside the encoder");
    if (program.has_after_encoder) description.sites.emplace_back("after the encoder");
    if (program.has_after_projector) description.sites.emplace_back("after the projector");
    if (!program.stages.empty()) {
        description.sites.emplace_back("decoder");
        description.mode = program.stages.front().mode;
    }
    for (const DecoderStage& stage : program.stages) description.layers.push_back(stage.layer);
    description.positions = program.positions;
    description.drops = method.drops || !program.stages.empty();
    return description;
}

}  // namespace clasp::methods
