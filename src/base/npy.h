// NumPy's .npy files, versions 1 and 2: little-endian float32 and float16 in C order. Everything else is
// refused with a reason.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "clasp/float_type.h"
#include "clasp/status.h"

namespace clasp::base {

struct NpyLimits {
    std::size_t max_bytes = std::size_t{4} << 30U;  // of the whole file
};

struct NpyHeader {
    FloatType type = FloatType::F32;  // F32 or F16
    std::vector<std::size_t> shape;   // at most kNpyMaxDimensions entries; none for a single number
    std::size_t n_values = 0;         // product of the shape
    std::size_t data_offset = 0;      // where the values start in the file
};

inline constexpr std::size_t kNpyMaxDimensions = 8;
inline constexpr std::size_t kNpyMaxHeader = 65535;

struct NpyArray {
    FloatType type = FloatType::F32;
    std::vector<std::size_t> shape;
    std::vector<std::byte> data;  // the values as they stand in the file

    [[nodiscard]] std::size_t n_values() const { return data.size() / float_size(type); }
    // All values as float32, whatever the type.
    [[nodiscard]] std::vector<float> to_float32() const;
};

// Errors: corrupt (cut short, not the format), unsupported (another version, type or order), too_large.
// Nothing is allocated on the word of the header.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> file);

// The whole file; its length must be what the header says.
Result<NpyArray> parse_npy(std::span<const std::byte> file);

// As parse_npy, with the path in front of messages.
Result<NpyArray> read_npy(const std::string& path, const NpyLimits& limits = {});

// A version 1 file of float32 values; their number is the product of the shape.
std::string npy_file(std::span<const std::size_t> shape, std::span<const float> values);
Status write_npy(const std::string& path, std::span<const std::size_t> shape, std::span<const float> values);

}  // namespace clasp::base
