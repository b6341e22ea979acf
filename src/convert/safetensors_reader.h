// Reads the head of a safetensors file: which tensors there are and where they lie. Nothing in it is trusted.
#pragma once

#include <vector>

#include "clasp/status.h"
#include "convert/stored_tensor.h"

namespace clasp::convert {

// A head of this size names some hundred thousand tensors; reading one takes about six times as much memory.
inline constexpr std::uint64_t kMaxSafetensorsHead = std::uint64_t{32} << 20U;

// In the order of the file's bytes. Every error is corrupt, too_large or unavailable and names the file, the
// tensor and the limit. `source` must outlive the tensors.
Result<std::vector<StoredTensor>> read_safetensors(const ByteSource& source);

}  // namespace clasp::convert
