// Whether two model files fit into memory, told from their tables before anything is loaded. What is certain
// not to fit is refused with numbers; what may not is a warning.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "clasp/status.h"
#include "model/backend.h"
#include "model/text_model_repack.h"
#include "model/vision_types.h"

namespace clasp::engine {

struct MemoryNeed {
    std::size_t mapped_bytes = 0;  // of files: address space, but memory only while there is some
    std::size_t kept_bytes = 0;    // of weights that are copied: both; at least so many
};

struct MemoryRoom {
    std::optional<std::size_t> address_bytes;  // left below the limit of this process; nothing: no limit
    std::size_t total_bytes = 0;               // memory and swap of the machine or of the control group
    std::size_t free_bytes = 0;
};

// Files that cannot be read or checked need nothing here: loading them tells why.
MemoryNeed memory_need(const std::string& model, const std::string& mmproj, model::VisionWeights weights,
                       model::DecoderKernels kernels, const model::Compute& compute);

MemoryRoom memory_room();

// A warning, empty when all is well. Error: out_of_memory.
Result<std::string> judge_memory(const MemoryNeed& need, const MemoryRoom& room);

}  // namespace clasp::engine
