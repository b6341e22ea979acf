// What a program can do about errors that no call returns.
//
// The engine computes with ggml. Where memory or threads run out in the middle of its work, ggml does not
// return an error: it prints a line, starts a debugger if there is one (gdb or lldb, to print a stack) and
// aborts the process. The library leaves that as it is, because how a process ends is the program's affair.
// A program that wants something else says so once, at its start:
//
//     clasp::set_fatal_handler([](const char* message) {
//         std::fprintf(stderr, "my-program: %s\n", message);
//         std::_Exit(1);
//     });
//
// Model files are mapped into memory. When somebody shortens such a file while it is in use, reading it
// raises SIGBUS; a program may catch that signal and end with a line of its own, as clasp-vlm does.
#pragma once

namespace clasp {

// Gets the reason, one line of ggml's. Called on any thread, possibly on several at once, with little memory
// left. It must not return; if it does, the process aborts.
using FatalHandler = void (*)(const char* message);

// One for the whole process. Null restores what ggml does by itself.
void set_fatal_handler(FatalHandler handler);

}  // namespace clasp
