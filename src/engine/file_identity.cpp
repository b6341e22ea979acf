#include "engine/file_identity.h"

#include <algorithm>
#include <vector>

#include "base/mapped_file.h"
#include "base/sha256.h"

namespace clasp::engine {

std::string content_identity(std::span<const std::byte> bytes, ThreadPool* pool) {
    constexpr std::size_t kPiece = std::size_t{4} << 20U;
    std::vector<base::Digest> pieces((bytes.size() + kPiece - 1) / kPiece);
    run_parts(pool, pieces.size(), [&](std::size_t i) {
        const std::size_t begin = i * kPiece;
        pieces[i] = base::sha256(bytes.subspan(begin, std::min(kPiece, bytes.size() - begin)));
    });
    base::Sha256 hash;
    hash.update(std::to_string(bytes.size()));
    for (const base::Digest& piece : pieces) hash.update(std::as_bytes(std::span(piece)));
    return base::to_hex(hash.finish());
}

Result<std::string> file_identity(const std::string& path, ThreadPool* pool) {
    CLASP_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::open(path));
    return content_identity(file.bytes(), pool);
}

}  // namespace clasp::engine
