// A tensor of a checkpoint: where its numbers lie in a file, one after the other, the last index fastest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/byte_source.h"

namespace clasp::convert {

enum class Element : std::uint8_t {
    F64,
    F32,
    F16,
    BF16,
    F8E4M3,
    F8E5M2,
    I64,
    I32,
    I16,
    I8,
    U64,
    U32,
    U16,
    U8,
    Bool
};

std::size_t element_bytes(Element element);
std::string_view element_name(Element element);  // as safetensors files write it
std::optional<Element> find_element(std::string_view name);

struct StoredTensor {
    std::string name;
    Element element = Element::F32;
    std::vector<std::uint64_t> shape;
    std::uint64_t offset = 0;  // in the file
    std::uint64_t n_bytes = 0;
    const ByteSource* source = nullptr;  // not owned

    // Of sound tensors, whose shapes have been checked.
    [[nodiscard]] std::uint64_t n_elements() const { return n_bytes / element_bytes(element); }
};

// Bytes of so many elements; nothing when the number does not fit or there are more than 8 dimensions.
std::optional<std::uint64_t> tensor_bytes(const std::vector<std::uint64_t>& shape, Element element);

// "[2, 3]"
std::string shape_text(const std::vector<std::uint64_t>& shape);

// A name of a tensor for messages.
std::string tensor_text(std::string_view name);

}  // namespace clasp::convert
