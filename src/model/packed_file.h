// Matrices in the layouts of quant_matrix.h as a file of their own, which the next start maps instead of
// packing them again.
//
// A file is
//   head    magic, key, bytes of the matrices, number of pieces, a checksum of each piece; SHA-256 of all
//   that zeros   up to the next page data    the matrices one after the other, each from a multiple of 64
//   bytes on
// Numbers have 64 bits, little endian. A matrix is cut into pieces of 4 MiB, the last one smaller. Which
// matrices there are, and how large, says the model file: only what fits to it is taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/mapped_file.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "model/gguf_reader.h"
#include "model/load_watch.h"

namespace clasp::model {

// How a file on disk ends and begins.
inline constexpr std::string_view kPackedSuffix = ".packed";
inline constexpr std::string_view kPackedMagic = "CLASPPW1";

// 64 hexadecimal digits that name a model file and the layout of its matrices: the file as the system knows
// it (its number, size and times), its keys, values and table of tensors, some bytes of every tensor, the
// version of our layouts. Whoever writes to a file changes its times; reading 4 GB to be surer than that
// would take longer than packing.
using PackedKey = std::string;
Result<PackedKey> packed_key(const base::InputFile& file, std::span<const std::byte> bytes,
                             const GgufReader& reader);

// The bytes of the matrices of a model, in their order.
using PackedSizes = std::vector<std::size_t>;

// Offsets of the matrices in the data, and behind them its size.
std::vector<std::size_t> packed_offsets(const PackedSizes& sizes);

class PackedFile {
   public:
    // Maps the file and compares every byte of it with the checksums. Errors: not_found, corrupt (cut short,
    // damaged, or of another model), cancelled, and those of reading.
    static Result<PackedFile> open(const std::string& path, const PackedKey& key, const PackedSizes& sizes,
                                   ThreadPool& pool, const LoadWatch* watch);

    // Valid as long as this object lives.
    [[nodiscard]] std::span<const std::byte> data() const { return mapped_.bytes().subspan(offset_); }

   private:
    base::MappedFile mapped_;
    std::size_t offset_ = 0;
};

// What open() does with the bytes of a file; returns where the data begin. pool and watch may be null.
Result<std::size_t> check_packed(std::span<const std::byte> file, const PackedKey& key,
                                 const PackedSizes& sizes, ThreadPool* pool, const LoadWatch* watch);

// A file that one thread writes and others watch.
struct PackedWriting {
    std::atomic<bool> stop{false};        // ends it early with cancelled
    std::atomic<std::size_t> n_bytes{0};  // of matrices, written so far
};

// Writes a whole file, which is not committed.
Status write_packed(base::AtomicFile& file, const PackedKey& key,
                    std::span<const std::span<const std::byte>> matrices, PackedWriting& writing);

}  // namespace clasp::model
