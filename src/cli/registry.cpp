#include <array>

#include "cli/command.h"
#include "cli/commands.h"

namespace clasp::cli {

std::span<const Command> commands() {
    static const std::array kCommands = {
        select_command(),
        route_command(),
        schedule_command(),
        fuse_command(),
    };
    return kCommands;
}

}  // namespace clasp::cli
