// What a conversion writes, before anything is written: two files, their keys, their tensors and where the
// numbers of each come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "convert/gguf_keys.h"
#include "convert/stored_tensor.h"

namespace clasp::convert {

// What a tensor is used for, which decides its type in the file.
enum class TensorUse : std::uint8_t {
    Matrix,  // left operand of a product: of the type that was asked for
    Head,    // the output matrix and the table of embeddings: finer than 4 bits
    Kernel,  // of patches: never quantised
    Values,  // norms, biases, positions: always float32
};

// Rows come from a tensor of the checkpoint, in another order where `rows` says so, or are given.
struct PlannedTensor {
    GgufTensorPlace place;
    TensorUse use = TensorUse::Matrix;
    const StoredTensor* source = nullptr;  // of the checkpoint, which outlives the plan
    std::uint64_t row_elements = 1;        // of what is read and put in order as one
    std::uint64_t first_row = 0;           // of the source
    std::vector<std::uint32_t> rows = {};  // of the source, counted from first_row; empty: in their order
    std::vector<float> values = {};        // when there is no source

    [[nodiscard]] std::uint64_t n_elements() const {
        std::uint64_t n = 1;
        for (const std::uint64_t extent : place.shape) n *= extent;
        return n;
    }
};

struct OutputFile {
    GgufKeys keys;
    std::vector<PlannedTensor> tensors;
};

struct ConversionPlan {
    std::string family;        // of the table in families.cpp
    std::string architecture;  // of the text file
    OutputFile text;
    OutputFile vision;
    std::vector<std::string> notes;  // sentences for the user
};

}  // namespace clasp::convert
