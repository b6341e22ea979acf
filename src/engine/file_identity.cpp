#include "engine/file_identity.h"

#include <algorithm>
#include <span>

#include "base/mapped_file.h"
#include "base/sha256.h"

namespace clasp::engine {

namespace {

constexpr std::size_t kEnd = std::size_t{1} << 20U;
constexpr std::size_t kPiece = std::size_t{64} << 10U;
constexpr std::size_t kPieces = 62;

}  // namespace

Result<std::string> file_identity(const std::string& path) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::open(path));
    const std::span<const std::byte> bytes = file.bytes();
    base::Sha256 hash;
    hash.update(std::to_string(bytes.size()));
    if (bytes.size() <= 2 * kEnd + kPieces * kPiece) {
        hash.update(bytes);
        return base::to_hex(hash.finish());
    }
    hash.update(bytes.first(kEnd));
    const std::size_t step = (bytes.size() - 2 * kEnd) / kPieces;
    for (std::size_t i = 0; i < kPieces; ++i)
        hash.update(bytes.subspan(kEnd + i * step, std::min(step, kPiece)));
    hash.update(bytes.last(kEnd));
    return base::to_hex(hash.finish());
}

}  // namespace clasp::engine
