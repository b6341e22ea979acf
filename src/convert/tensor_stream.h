// Brings a tensor from the checkpoint into the type of the file, some rows at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "convert/output_plan.h"

namespace clasp::convert {

// What was asked for, and what quantised types need otherwise.
struct OutputTypes {
    ggml_type matrix = GGML_TYPE_F16;

    // The type of a tensor: rows that no block of the wanted type divides get a coarser-grained one.
    [[nodiscard]] ggml_type type_for(TensorUse use, std::uint64_t width) const;
};

// Sets types and sizes of all tensors. A note says which did not get the type that was asked for.
void assign_types(const OutputTypes& types, std::string_view file, OutputFile& output,
                  std::vector<std::string>& notes);

// Receives the bytes of a tensor, in their order.
using ByteSink = std::function<Status(std::string_view bytes)>;

// Memory: two pieces of some MiB, whatever the tensor's size. Errors: those of reading and of the sink;
// corrupt, for values that are not finite or that float16 cannot hold.
Status stream_tensor(const PlannedTensor& tensor, ThreadPool& pool, const ByteSink& sink);

}  // namespace clasp::convert
