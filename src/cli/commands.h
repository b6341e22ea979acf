// One function per command, each in a file of its own name.
#pragma once

#include "cli/command.h"

namespace clasp::cli {

Command schedule_command();

}  // namespace clasp::cli
