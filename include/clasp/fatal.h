// What a program can do about errors that no call returns.
//
// The engine computes with ggml. Where memory or threads run out in the middle of its work, ggml does not
// return an error: it aborts the process. Once an engine was loaded, a line on standard error says why; the
// debugger that ggml would start before (gdb or lldb, to print a stack) is kept away.
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

// One for the whole process. Null: the line on standard error, then the process aborts.
void set_fatal_handler(FatalHandler handler);

}  // namespace clasp
