// One function per command, each in a file of its own name.
#pragma once

#include "cli/command.h"

namespace clasp::cli {

Command select_command();
Command route_command();
Command schedule_command();
Command fuse_command();

}  // namespace clasp::cli
