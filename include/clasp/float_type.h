// The number formats in which features come from an encoder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace clasp {

enum class FloatType : std::uint8_t { F32, F16, BF16 };

inline constexpr std::size_t float_size(FloatType type) {
    return type == FloatType::F32 ? 4 : 2;
}

}  // namespace clasp
