#include "methods/staged.h"

#include <algorithm>

#include "methods/ranking.h"

namespace clasp::methods {

namespace {

DecoderStage stage_from(std::size_t layer, std::size_t keep, StageMode mode, const StageNeeds& needs) {
    const std::size_t own_layer = mode == StageMode::After ? layer - 1 : layer;
    return {.layer = own_layer, .mode = mode, .keep = keep, .needs = keep > 0 ? needs : StageNeeds()};
}

}  // namespace

Program staged_program(const Setup& setup, const StageNeeds& needs) {
    Program program;
    program.entering = setup.n_visual;
    for (const Stage& stage : setup.stages) {
        program.stages.push_back(
            {.layer = stage.layer, .mode = setup.stage_mode, .keep = stage.keep, .needs = needs});
    }
    return program;
}

Result<Program> own_program(const Setup& setup, std::span<const StageShape> shapes, StageMode mode,
                            const StageNeeds& needs, std::string_view method) {
    Program program;
    program.entering = setup.n_visual;
    for (const Stage& stage : setup.stages) {
        if (stage.layer >= setup.n_layers || (stage.layer == 0 && mode == StageMode::After)) {
            return Status(Code::InvalidArgument, "method '" + std::string(method) +
                                                     "' cannot drop tokens from layer " +
                                                     std::to_string(stage.layer) + " on in a decoder of " +
                                                     std::to_string(setup.n_layers) + " layers");
        }
        program.stages.push_back(stage_from(stage.layer, stage.keep, mode, needs));
    }
    if (!setup.stages.empty()) return program;
    CLASP_ASSIGN_OR_RETURN(const std::vector<std::size_t> counts,
                           solve_stage_counts(setup.n_visual, setup.n_layers, shapes, setup.budget, method));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        program.stages.push_back(stage_from(shapes[i].layer, counts[i], mode, needs));
    }
    return program;
}

std::vector<std::size_t> scaled_layers(std::span<const std::size_t> layers, std::size_t n_layers) {
    std::vector<std::size_t> result;
    std::size_t least = 1;
    for (const std::size_t layer : layers) {
        result.push_back(scaled_layer(layer, n_layers, least));
        least = result.back() + 1;
    }
    return result;
}

void keep_highest(std::span<const TokenIndex> live, std::span<const float> scores, std::size_t keep,
                  Plan& plan) {
    for (const TokenIndex i : highest(scores, keep)) plan.keep(live[i], Reason::Pivot);
}

}  // namespace clasp::methods
