// Apart from the other commands because it needs the engine.
#pragma once

#include "cli/command.h"

namespace clasp::cli {

Command calibrate_command();

}  // namespace clasp::cli
