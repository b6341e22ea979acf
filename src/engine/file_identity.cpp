#include "engine/file_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/file.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "engine/key_hash.h"

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

Result<std::string> file_stamp(const std::string& path) {
    constexpr std::size_t kBlocks = 64;
    constexpr std::size_t kBlockBytes = std::size_t{64} << 10U;
    CLASP_ASSIGN_OR_RETURN(const base::InputFile file, base::InputFile::open(path));
    struct stat facts {};
    if (::fstat(file.descriptor(), &facts) != 0) {
        return Status(Code::Unavailable, base::path_in_quotes(path) + " cannot be looked at");
    }
    KeyHash hash("file");
    for (const auto number :
         {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino),
          static_cast<std::uint64_t>(facts.st_size), static_cast<std::uint64_t>(facts.st_mtim.tv_sec),
          static_cast<std::uint64_t>(facts.st_mtim.tv_nsec), static_cast<std::uint64_t>(facts.st_ctim.tv_sec),
          static_cast<std::uint64_t>(facts.st_ctim.tv_nsec)}) {
        hash.add_number(number);
    }
    const std::size_t last = file.size() > kBlockBytes ? file.size() - kBlockBytes : 0;
    for (std::size_t i = 0; i < kBlocks; ++i) {
        CLASP_ASSIGN_OR_RETURN(const std::string block, file.read(last / (kBlocks - 1) * i, kBlockBytes));
        hash.add(block);
    }
    return hash.finish();
}

}  // namespace clasp::engine
