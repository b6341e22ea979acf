#include "clasp/fatal.h"

#include "ggml.h"

namespace clasp {

void set_fatal_handler(FatalHandler handler) {
    ggml_set_abort_callback(handler);
}

}  // namespace clasp
