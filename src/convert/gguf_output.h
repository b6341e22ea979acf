// Writes a planned file: its head, then tensor after tensor, under a temporary name until it is whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "clasp/status.h"
#include "convert/tensor_stream.h"

namespace clasp::convert {

// Bytes of the whole file. Types must be assigned.
std::uint64_t output_bytes(const OutputFile& output);

// Called after every piece with its bytes; false ends the work with cancelled.
using WriteProgress = std::function<bool(std::uint64_t bytes, const std::string& tensor)>;

class GgufOutput {
   public:
    static Result<GgufOutput> create(const std::string& path);

    Status write(const OutputFile& output, ThreadPool& pool, const WriteProgress& progress);
    // Brings it to its place.
    Status commit() { return file_.commit(); }
    [[nodiscard]] const std::string& sha256() const { return sha256_; }

   private:
    explicit GgufOutput(base::AtomicFile file) : file_(std::move(file)) {}
    Status append(std::string_view bytes);

    base::AtomicFile file_;
    base::Sha256 hash_;
    std::string sha256_;
};

// Removes what conversions to this path left behind that were killed: temporary files of processes that are
// gone.
void remove_stale(const std::string& path);

// Whether the engine would take the files, by their heads alone: nothing is written, nothing of the tensors
// read.
Status check_text_output(const OutputFile& output);
// False when the engine does not know the projector at all.
Result<bool> check_vision_output(const OutputFile& output, std::uint64_t text_width);

}  // namespace clasp::convert
