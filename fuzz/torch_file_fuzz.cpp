// Any bytes as a checkpoint of PyTorch, as the pickle in one, and as a vocabulary of SentencePiece: refused
// with a message, or read as tensors that lie inside the file.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "convert/pickle_reader.h"
#include "convert/torch_file.h"
#include "convert/vocabulary.h"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_file(std::string_view bytes) {
    const clasp::convert::MemorySource source("fuzz", bytes);
    const auto file = clasp::convert::read_torch_file(source);
    if (!file.ok()) {
        require(!file.status().message().empty());
        return;
    }
    for (const auto& tensor : file->tensors) {
        require(tensor.offset <= bytes.size() && tensor.n_bytes <= bytes.size() - tensor.offset);
    }
    for (const auto& entry : file->entries) {
        require(entry.offset <= bytes.size() && entry.size <= bytes.size() - entry.offset);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check_file(bytes);
    const auto tensors = clasp::convert::read_pickle(bytes);
    require(tensors.ok() || !tensors.status().message().empty());
    const auto vocabulary = clasp::convert::read_sentencepiece(bytes);
    require(vocabulary.ok() ? !vocabulary->tokens.empty() : !vocabulary.status().message().empty());
    return 0;
}
