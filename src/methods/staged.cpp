#include "methods/staged.h"

namespace clasp::methods {

Program staged_program(const Setup& setup, const StageNeeds& needs) {
    Program program;
    program.entering = setup.n_visual;
    for (const Stage& stage : setup.stages) {
        program.stages.push_back(
            {.layer = stage.layer, .mode = setup.stage_mode, .keep = stage.keep, .needs = needs});
    }
    return program;
}

}  // namespace clasp::methods
