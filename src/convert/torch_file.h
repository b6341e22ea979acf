// A checkpoint as PyTorch writes it: a zip archive of a pickle and of its storages.
#pragma once

#include <vector>

#include "clasp/status.h"
#include "convert/stored_tensor.h"
#include "convert/zip_reader.h"

namespace clasp::convert {

struct TorchFile {
    std::vector<StoredTensor> tensors;
    std::vector<ZipEntry> entries;  // whose checksums can be checked
};

// Every error names the file. `source` must outlive the tensors.
Result<TorchFile> read_torch_file(const ByteSource& source);

}  // namespace clasp::convert
