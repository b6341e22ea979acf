// Any bytes as a safetensors file: refused with a message, or read as tensors that fill it without holes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "convert/safetensors_reader.h"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const clasp::convert::MemorySource source("fuzz", {reinterpret_cast<const char*>(data), size});
    const auto tensors = clasp::convert::read_safetensors(source);
    if (!tensors.ok()) {
        require(!tensors.status().message().empty());
        return 0;
    }
    std::uint64_t at = tensors->empty() ? size : tensors->front().offset;
    for (const auto& tensor : *tensors) {
        require(tensor.offset == at && tensor.n_bytes <= size - at);
        require(clasp::convert::tensor_bytes(tensor.shape, tensor.element) == tensor.n_bytes);
        at += tensor.n_bytes;
    }
    require(at == size);
    return 0;
}
