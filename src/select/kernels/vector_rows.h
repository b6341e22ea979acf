// Private. The row kernels written once on the compiler's vector types. Each instruction-set file sets
// CLASP_VECTOR_BYTES and includes this once; everything has internal linkage, and nothing from the
// standard library's templates is used, so that no code for one instruction set can leak into another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "select/kernels/kernels.h"

namespace clasp::selection {
namespace {

constexpr std::size_t kLanes = CLASP_VECTOR_BYTES / sizeof(float);

using Floats = float __attribute__((vector_size(CLASP_VECTOR_BYTES)));
using Integers = std::int32_t __attribute__((vector_size(CLASP_VECTOR_BYTES)));
using Bits = std::uint32_t __attribute__((vector_size(CLASP_VECTOR_BYTES)));
using HalfFloats = float __attribute__((vector_size(CLASP_VECTOR_BYTES / 2)));
using Doubles = double __attribute__((vector_size(CLASP_VECTOR_BYTES)));

template <typename Vector, typename Element>
inline Vector load(const Element* from) {
    Vector vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
}

template <typename Vector, typename Element>
inline void store(Element* to, Vector vector) {
    __builtin_memcpy(to, &vector, sizeof vector);
}

double squared_norm(const float* row, std::size_t n) {
    constexpr std::size_t kPerVector = kLanes / 2;
    constexpr std::size_t kVectors = kNormLanes / kPerVector;
    Doubles sums[kVectors] = {};
    std::size_t i = 0;
    for (; i + kNormLanes <= n; i += kNormLanes) {
        for (std::size_t v = 0; v < kVectors; ++v) {
            const Doubles values =
                __builtin_convertvector(load<HalfFloats>(row + i + v * kPerVector), Doubles);
            sums[v] += values * values;
        }
    }
    double lanes[kNormLanes];
    __builtin_memcpy(lanes, sums, sizeof lanes);
    for (; i < n; ++i) {
        const auto value = static_cast<double>(row[i]);
        lanes[i % kNormLanes] += value * value;
    }
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

// One run of kVectors vectors of columns, all members.
template <std::size_t kVectors>
inline void sum_columns(const std::int32_t* rows, std::size_t stride, const std::uint32_t* members,
                        std::size_t n_members, std::int32_t* out) {
    Integers sums[kVectors] = {};
    for (std::size_t m = 0; m < n_members; ++m) {
        const std::int32_t* row = rows + members[m] * stride;
        for (std::size_t v = 0; v < kVectors; ++v) sums[v] += load<Integers>(row + v * kLanes);
    }
    for (std::size_t v = 0; v < kVectors; ++v) store(out + v * kLanes, sums[v]);
}

void sum_rows(const std::int32_t* rows, std::size_t stride, const std::uint32_t* members,
              std::size_t n_members, std::size_t n, std::int32_t* out) {
    constexpr std::size_t kWide = 4;
    std::size_t i = 0;
    for (; i + kWide * kLanes <= n; i += kWide * kLanes) {
        sum_columns<kWide>(rows + i, stride, members, n_members, out + i);
    }
    for (; i + kLanes <= n; i += kLanes) sum_columns<1>(rows + i, stride, members, n_members, out + i);
    if (i < n) scalar_kernels().sum_rows(rows + i, stride, members, n_members, n - i, out + i);
}

// Returns the columns done, a multiple of kLanes.
template <typename Vector, typename Number>
inline std::size_t max_columns(const Number* rows, std::size_t stride, const std::uint32_t* members,
                               std::size_t n_members, std::size_t n, Number* out) {
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        Vector largest = load<Vector>(out + i);
        for (std::size_t m = 0; m < n_members; ++m) {
            const Vector values = load<Vector>(rows + members[m] * stride + i);
            largest = values > largest ? values : largest;
        }
        store(out + i, largest);
    }
    return i;
}

void max_rows(const float* rows, std::size_t stride, const std::uint32_t* members, std::size_t n_members,
              std::size_t n, float* out) {
    const std::size_t i = max_columns<Floats>(rows, stride, members, n_members, n, out);
    if (i < n) scalar_kernels().max_rows(rows + i, stride, members, n_members, n - i, out + i);
}

void max_fixed_rows(const std::int32_t* rows, std::size_t stride, const std::uint32_t* members,
                    std::size_t n_members, std::size_t n, std::int32_t* out) {
    const std::size_t i = max_columns<Integers>(rows, stride, members, n_members, n, out);
    if (i < n) scalar_kernels().max_fixed_rows(rows + i, stride, members, n_members, n - i, out + i);
}

inline Floats scaled(const std::int32_t* from, float scale) {
    return __builtin_convertvector(load<Integers>(from), Floats) * scale;
}

// Lets kRows consecutive centres, the first being number k, compete with the best so far.
template <std::size_t kRows>
inline void compete(const std::int32_t* const* rows, const float* scales, std::size_t k, std::size_t begin,
                    std::size_t n, float* best, std::uint32_t* index) {
    for (std::size_t i = 0; i < n; i += kLanes) {
        Floats largest = load<Floats>(best + i);
        Bits where = load<Bits>(index + i);
        for (std::size_t r = 0; r < kRows; ++r) {
            const Floats values = scaled(rows[k + r] + begin + i, scales[k + r]);
            const auto is_larger = values > largest;
            largest = is_larger ? values : largest;
            where = is_larger ? Bits{} + static_cast<std::uint32_t>(k + r) : where;
        }
        store(best + i, largest);
        store(index + i, where);
    }
}

void best_rows(const std::int32_t* const* rows, const float* scales, std::size_t n_rows, std::size_t begin,
               std::size_t n, float* best, std::uint32_t* index) {
    constexpr std::size_t kWide = 4;
    const std::size_t n_vector = n / kLanes * kLanes;
    for (std::size_t i = 0; i < n_vector; i += kLanes) {
        store(best + i, scaled(rows[0] + begin + i, scales[0]));
        store(index + i, Bits{});
    }
    std::size_t k = 1;
    for (; k + kWide <= n_rows; k += kWide) compete<kWide>(rows, scales, k, begin, n_vector, best, index);
    for (; k < n_rows; ++k) compete<1>(rows, scales, k, begin, n_vector, best, index);
    if (n_vector < n) {
        scalar_kernels().best_rows(rows, scales, n_rows, begin + n_vector, n - n_vector, best + n_vector,
                                   index + n_vector);
    }
}

std::uint32_t max_bits(const float* row, const std::uint32_t* mask, std::size_t n) {
    Bits largest = {};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        Bits bits = load<Bits>(row + i) & load<Bits>(mask + i);
        largest = bits > largest ? bits : largest;
    }
    std::uint32_t result = i < n ? scalar_kernels().max_bits(row + i, mask + i, n - i) : 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        result = largest[lane] > result ? largest[lane] : result;
    return result;
}

}  // namespace
}  // namespace clasp::selection
