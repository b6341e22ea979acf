// The environment variable that names the best set of kernels which may run, so that a processor can be
// measured as if it were an older one.
#pragma once

#include <cstdlib>
#include <string_view>

namespace clasp::base {

inline constexpr const char* kKernelLimit = "CLASP_KERNELS_AT_MOST";

// What it names; empty when it is unset.
inline std::string_view kernel_limit() {
    const char* named = std::getenv(kKernelLimit);
    return named != nullptr ? named : std::string_view();
}

}  // namespace clasp::base
