// What a program must see to before anything else, and a library must not touch: its standard streams, and
// how it ends when something happens that no call returns.
#pragma once

namespace clasp::cli {

// A standard stream that the caller closed would be taken by the first file that is opened, and progress
// lines would land in results. Puts /dev/null there, in the direction in which using it still fails.
void fill_standard_streams();

// Out of memory on any thread, a file that shrinks while it is mapped, and ggml giving up: one line on
// standard error and exit code 1. Never a debugger.
void guard_against_sudden_ends();

}  // namespace clasp::cli
