// What must hold whatever the bytes are: the fuzzer sees an abort.
#pragma once

#include <cstdlib>

namespace clasp::fuzz {

inline void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace clasp::fuzz
