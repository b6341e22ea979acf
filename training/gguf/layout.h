// Where the weights of a model lie in its pair of files; what export writes and import reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/shape.h"
#include "nn/params.h"

namespace clasp::training {

// One tensor of a file: `count` values of a parameter from `first` on.
struct StoredTensor {
    std::string name;  // in the file
    ParamId param = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    std::vector<std::uint64_t> shape;  // in ggml's order: the contiguous dimension first
    bool is_half = false;              // F16, else F32
};

// In the order of the files. The store is that of a model of this shape.
std::vector<StoredTensor> text_tensors(const ModelShape& shape, const ParamStore& store);
std::vector<StoredTensor> vision_tensors(const ModelShape& shape, const ParamStore& store);

// Matrices are stored in half precision, vectors (norms, biases, class token, frames' embeddings) in full.
bool is_stored_in_half(const Param& param);

}  // namespace clasp::training
