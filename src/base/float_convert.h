// Half and bfloat16 to and from float32, bit by bit: the specification that vector code must match.
#pragma once

#include <bit>
#include <cstdint>

namespace clasp::base {

// Exact for every pattern, subnormals and infinities included; a NaN comes back quiet with its payload.
inline float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    std::uint32_t exponent = (half >> 10U) & 0x1fU;
    std::uint32_t fraction = half & 0x3ffU;
    if (exponent == 0x1fU) {
        const std::uint32_t quiet = fraction != 0 ? 0x400000U : 0U;
        return std::bit_cast<float>(sign | 0x7f800000U | quiet | (fraction << 13U));
    }
    if (exponent == 0) {
        if (fraction == 0) return std::bit_cast<float>(sign);
        exponent = 1;
        while ((fraction & 0x400U) == 0) {
            fraction <<= 1U;
            --exponent;  // wraps below 0 on purpose: the bias below brings it back
        }
        fraction &= 0x3ffU;
    }
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}

// Rounds to nearest, ties to even; too large becomes infinity.
inline std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13U) & 0x3ffU));
    }
    if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // 65536 and above
    if (magnitude < 0x38800000U) {  // below the least normal half
        // Adding 0.5 puts the wanted bits at the end of the fraction, rounded by the hardware.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
    }
    const std::uint32_t odd = (magnitude >> 13U) & 1U;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13U));
}

inline float bfloat_to_float(std::uint16_t bfloat) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bfloat) << 16U);
}

}  // namespace clasp::base
