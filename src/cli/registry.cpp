#include <array>

#include "cli/calibrate_command.h"
#include "cli/command.h"
#include "cli/commands.h"

namespace clasp::cli {

std::span<const Command> commands() {
    static const std::array kCommands = {
#ifdef CLASP_HAS_ENGINE
        ask_command(),    compare_command(),  bench_command(),   inspect_command(),    calibrate_command(),
        cache_command(),  chat_command(),     convert_command(),
#ifdef CLASP_HAS_SERVER
        serve_command(),
#endif
#endif
        eval_command(),   methods_command(),  policy_command(),  route_command(),      scenes_command(),
        select_command(), schedule_command(), fuse_command(),    completion_command(),
    };
    return kCommands;
}

}  // namespace clasp::cli
