#include "clasp/fatal.h"

#include <cstdio>

#include "ggml.h"
#include "model/ggml_libraries.h"

namespace clasp {

namespace {

// What ggml does by itself, but for the debugger; it aborts when this returns.
void print_line(const char* message) {
    std::fprintf(stderr, "%s\n", message);
}

}  // namespace

void set_fatal_handler(FatalHandler handler) {
    ggml_set_abort_callback(handler != nullptr ? handler : print_line);
}

void model::keep_debuggers_away() {
    const ggml_abort_callback_t before = ggml_set_abort_callback(print_line);
    if (before != nullptr) ggml_set_abort_callback(before);
}

}  // namespace clasp
