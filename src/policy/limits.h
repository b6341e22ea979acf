// Bounds of the policy format, the same for files and for policies made in memory.
#pragma once

#include <cstddef>

#include "base/json.h"

namespace clasp::policy {

inline constexpr std::size_t kMaxClasses = 256;
inline constexpr std::size_t kMaxVisionLayers = 1024;
inline constexpr std::size_t kMaxNameBytes = 128;
inline constexpr std::size_t kMaxDescriptionBytes = 4096;
inline constexpr std::size_t kMaxIterations = 1000;
inline constexpr double kWeightSumTolerance = 1e-6;
inline constexpr base::JsonLimits kFileLimits = {std::size_t{1} << 20U, 16};
inline constexpr base::JsonLimits kProvenanceLimits = {std::size_t{1} << 19U, 15};

}  // namespace clasp::policy
