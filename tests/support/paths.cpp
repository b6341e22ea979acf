#include "support/paths.h"

namespace clasp::test {

const char* source_dir() {
    return CLASP_SOURCE_DIR;
}

const char* scratch_dir() {
    return CLASP_SCRATCH_DIR;
}

const char* llama_source_dir() {
    return CLASP_LLAMA_SOURCE_DIR;
}

}  // namespace clasp::test
