// The libraries of ggml and libllama that this program runs on: whether they are those that it was compiled
// for, and the modules of ggml that are loaded at run time, such as the one for this processor.
#pragma once

#include <string>

#include "clasp/status.h"

namespace clasp::model {

struct LibraryVersions {
    std::string llama;
    std::string ggml;
    std::string ggml_commit;
};

// Of the headers that this program was compiled with.
LibraryVersions compiled_versions();
// Of the libraries that it found when it started.
LibraryVersions loaded_versions();

// Refuses libraries of another release: structures differ between releases, and so would what they compute.
Status check_versions(const LibraryVersions& compiled, const LibraryVersions& loaded);

// Checks the versions, then lets ggml load its modules that lie beside it; of several for the CPU it takes
// the best that this processor can run. Done once; later calls return what the first one found.
Status load_ggml();

// Where ggml gives up it says why and aborts, without the debugger that it would start; a handler that the
// program has set stays (clasp/fatal.h).
void keep_debuggers_away();

// The file that the CPU backend runs from: a module of ggml, or the program when the backend is part of it.
// Empty before load_ggml().
std::string cpu_backend_file();

}  // namespace clasp::model
