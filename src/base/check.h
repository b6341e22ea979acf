// Checks for bugs of ours, never for input. Always on, because memory safety may depend on them.
#pragma once

#include <cstdlib>

#define CLASP_CHECK(condition)          \
    do {                                \
        if (!(condition)) std::abort(); \
    } while (false)
