#include <array>

#include "cli/calibrate_command.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace clasp::cli {

std::span<const Command> commands() {
    static const std::array kCommands = {
#ifdef CLASP_HAS_ENGINE
        ask_command(),   bench_command(),  calibrate_command(), compare_command(), inspect_command(),
#endif
        route_command(), select_command(), schedule_command(),  fuse_command(),    scenes_command(),
        eval_command(),
    };
    return kCommands;
}

}  // namespace clasp::cli
