// Reads the pickle of a PyTorch checkpoint: a dictionary from names to tensors. A pickle is a program; this
// machine runs only the instructions that such a dictionary takes, and of all that it could call knows three
// kinds: torch._utils._rebuild_tensor_v2, collections.OrderedDict and the storage classes of torch, none of
// which is run: they become descriptions. Anything else ends with an error that says to save as safetensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "convert/stored_tensor.h"

namespace clasp::convert {

struct PickledTensor {
    std::string name;
    std::string storage;  // its key, the last part of an entry's name in the archive
    Element element = Element::F32;
    std::uint64_t storage_elements = 0;
    std::uint64_t first_element = 0;  // of the storage
    std::vector<std::uint64_t> shape;
    std::vector<std::uint64_t> strides;  // as many, in elements
};

inline constexpr std::size_t kMaxPickleBytes = std::size_t{32} << 20U;

// In the order of the dictionary. Errors have no path: the caller knows it.
Result<std::vector<PickledTensor>> read_pickle(std::string_view bytes);

}  // namespace clasp::convert
