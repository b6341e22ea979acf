// Constants of the GGUF format, as far as the model's files use it.
#pragma once

#include <cstdint>

namespace clasp::training::gguf {

constexpr std::uint32_t kVersion = 3;
constexpr std::uint64_t kAlignment = 32;  // of the tensors' bytes

// Types of a key's value.
enum ValueType : std::uint32_t { kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9 };

constexpr std::uint64_t padded(std::uint64_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace clasp::training::gguf
