// One function per command, each in a file of its own name.
#pragma once

#include "cli/command.h"

namespace clasp::cli {

Command ask_command();
Command bench_command();
Command cache_command();
Command chat_command();
Command compare_command();
Command completion_command();
Command convert_command();
Command eval_command();
Command inspect_command();
Command methods_command();
Command policy_command();
Command select_command();
Command serve_command();
Command route_command();
Command schedule_command();
Command fuse_command();
Command scenes_command();

}  // namespace clasp::cli
