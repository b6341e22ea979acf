// The keys of a GGUF file, in its bytes, and its head with the table of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ggml.h"
#include "model/gguf_reader.h"

namespace clasp::convert {

// A key that is set again keeps its first place and has the new value.
class GgufKeys {
   public:
    void set_text(std::string_view key, std::string_view value);
    void set_u32(std::string_view key, std::uint64_t value);  // precondition: it fits
    void set_f32(std::string_view key, double value);
    void set_flag(std::string_view key, bool value);
    void set_texts(std::string_view key, std::span<const std::string> values);
    void set_floats(std::string_view key, std::span<const float> values);
    void set_integers(std::string_view key, std::span<const std::int32_t> values);
    // As it stands in another file.
    void set_copy(const model::GgufEntry& entry);
    // All keys of another list.
    void append(const GgufKeys& others);

    [[nodiscard]] std::size_t size() const { return keys_.size(); }
    // All of them, as they stand in a file.
    [[nodiscard]] std::string bytes() const;

   private:
    struct Key {
        std::string name;
        std::string value;  // its type and its bytes
    };
    std::string& value_of(std::string_view key);

    std::vector<Key> keys_;
};

struct GgufTensorPlace {
    std::string name;
    std::vector<std::uint64_t> shape;  // of ggml: the contiguous dimension first
    ggml_type type = GGML_TYPE_F32;
    std::uint64_t n_bytes = 0;
};

inline constexpr std::uint64_t kGgufAlignment = 32;

// Bytes up to the next multiple of the alignment.
std::uint64_t gguf_padding(std::uint64_t n_bytes);

// Everything before the data; tensors lie one after the other, each from a multiple of the alignment on.
std::string gguf_head(const GgufKeys& keys, std::span<const GgufTensorPlace> tensors);

}  // namespace clasp::convert
