// Reads the container of a GGUF file: keys, values and the table of tensors. It trusts nothing: every
// count, length, type, dimension and offset is checked against the bytes that are really there before
// it is used, so a hostile or truncated file is an error, never an abort or a huge allocation. Memory
// used is proportional to the number of keys and tensors; values and tensor data stay where they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clasp/status.h"
#include "ggml.h"

namespace clasp::model {

// Numbered as in the file.
enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

// "u32", "string", ...
std::string_view gguf_type_name(GgufType type);

// One key with its value. A scalar is an array of one element.
struct GgufEntry {
    std::string_view key;
    GgufType element = GgufType::U8;  // never Array
    bool is_array = false;
    std::uint64_t count = 1;
    std::span<const std::byte> data;  // little endian; strings each preceded by their length as u64
};

struct GgufTensor {
    std::string_view name;
    ggml_type type = GGML_TYPE_F32;
    std::size_t n_dims = 0;
    std::array<std::int64_t, 4> shape = {1, 1, 1, 1};  // ggml order: shape[0] is the contiguous one
    std::span<const std::byte> data;
};

struct GgufLimits {
    std::size_t max_keys = 1U << 16;
    std::size_t max_tensors = 1U << 16;
    std::size_t max_name_bytes = 1U << 16;
};

class GgufReader {
   public:
    // Borrows the bytes: they must outlive the reader and everything it returns.
    static Result<GgufReader> parse(std::span<const std::byte> bytes, const GgufLimits& limits = {});

    [[nodiscard]] std::uint32_t version() const { return version_; }
    [[nodiscard]] std::size_t alignment() const { return alignment_; }
    // In file order.
    [[nodiscard]] const std::vector<GgufEntry>& entries() const { return entries_; }
    [[nodiscard]] const std::vector<GgufTensor>& tensors() const { return tensors_; }
    // Null when there is none.
    [[nodiscard]] const GgufEntry* find(std::string_view key) const;
    [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const;

   private:
    std::uint32_t version_ = 0;
    std::size_t alignment_ = 32;
    std::vector<GgufEntry> entries_;
    std::vector<GgufTensor> tensors_;
    std::unordered_map<std::string_view, std::size_t> entry_index_;
    std::unordered_map<std::string_view, std::size_t> tensor_index_;
};

}  // namespace clasp::model
