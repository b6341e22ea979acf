// Reads the table of a zip file whose entries are stored as they are, which is how PyTorch writes its files.
// Compressed or encrypted entries, names that lead anywhere, entries that overlap or lie outside: all
// refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clasp/status.h"
#include "convert/byte_source.h"

namespace clasp::convert {

struct ZipEntry {
    std::string name;
    std::uint64_t offset = 0;  // of its bytes in the file
    std::uint64_t size = 0;
    std::uint32_t crc32 = 0;  // as the file says
};

// In the order of the file's table. zip64 included.
Result<std::vector<ZipEntry>> read_zip(const ByteSource& source);

// The checksum of zip files, piece by piece: starts with 0.
std::uint32_t crc32_of(std::uint32_t before, std::string_view bytes);

}  // namespace clasp::convert
