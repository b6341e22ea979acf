#include "model/packed_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/little_endian.h"
#include "base/sha256.h"
#include "base/text.h"

namespace clasp::model {

namespace {

// Of quant_format.h: whoever changes how matrices lie there makes files of before useless by another number.
constexpr std::string_view kPackedLayout = "panels of 16, chunks of 256, planes; version 1";

constexpr std::size_t kPackedPiece = std::size_t{4} << 20U;
constexpr std::size_t kPackedAlignment = 64;
constexpr std::size_t kPackedPage = 4096;
constexpr std::size_t kPackedKeyDigits = 64;
constexpr std::size_t kSampleBytes = 64;

struct PackedPiece {
    std::size_t matrix;
    std::size_t begin;  // in the matrix
    std::size_t size;
};

std::vector<PackedPiece> pieces_of(const PackedSizes& sizes) {
    std::vector<PackedPiece> pieces;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        for (std::size_t begin = 0; begin < sizes[i]; begin += kPackedPiece) {
            pieces.push_back({i, begin, std::min(kPackedPiece, sizes[i] - begin)});
        }
    }
    return pieces;
}

std::size_t rounded_up(std::size_t n, std::size_t to) {
    return (n + to - 1) / to * to;
}

// Finds damage, not malice, at the speed of memory: any change of one word changes it for certain, because
// every step is a bijection of what came before and of the word.
std::uint64_t checksum(std::span<const std::byte> bytes) {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
    constexpr std::size_t kLanes = 8;
    std::uint64_t lanes[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::byte* from = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= sizeof(lanes); left -= sizeof(lanes), from += sizeof(lanes)) {
        std::uint64_t words[kLanes];
        std::memcpy(words, from, sizeof(words));
        for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = (lanes[i] ^ words[i]) * kFactor;
    }
    if (left > 0) {
        std::uint64_t words[kLanes] = {};
        std::memcpy(words, from, left);
        for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = (lanes[i] ^ words[i]) * kFactor;
    }
    std::uint64_t sum = bytes.size();
    for (const std::uint64_t lane : lanes) {
        sum = (sum ^ lane) * kFactor;
        sum ^= sum >> 32U;
    }
    return sum;
}

Status corrupt_packed(const char* what) {
    return {Code::Corrupt, std::string("packed weights: ") + what};
}

// Everything before the zeros.
std::string head_of(const PackedKey& key, std::size_t n_bytes, std::span<const std::uint64_t> checksums) {
    std::string head(kPackedMagic);
    head += key;
    base::put_u64(head, n_bytes);
    base::put_u64(head, checksums.size());
    for (const std::uint64_t sum : checksums) base::put_u64(head, sum);
    const base::Digest digest = base::sha256(base::as_bytes(head));
    head.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    return head;
}

void add_time(std::string& out, const timespec& time) {
    base::put_u64(out, static_cast<std::uint64_t>(time.tv_sec));
    base::put_u64(out, static_cast<std::uint64_t>(time.tv_nsec));
}

}  // namespace

Result<PackedKey> packed_key(const base::InputFile& file, std::span<const std::byte> bytes,
                             const GgufReader& reader) {
    struct stat info {};
    if (::fstat(file.descriptor(), &info) != 0) {
        return Status(Code::Unavailable,
                      base::path_in_quotes(file.path()) + ": " + std::generic_category().message(errno));
    }
    std::string known(kPackedLayout);
    base::put_u64(known, info.st_ino);
    base::put_u64(known, bytes.size());
    add_time(known, info.st_mtim);
    add_time(known, info.st_ctim);
    base::Sha256 hash;
    hash.update(known);
    std::size_t head_bytes = bytes.size();
    for (const GgufTensor& tensor : reader.tensors()) {
        if (tensor.data.empty()) continue;
        head_bytes = std::min(head_bytes, static_cast<std::size_t>(tensor.data.data() - bytes.data()));
        const std::size_t middle = tensor.data.size() / 2;
        hash.update(tensor.data.subspan(middle, std::min(kSampleBytes, tensor.data.size() - middle)));
    }
    hash.update(bytes.first(head_bytes));
    return base::to_hex(hash.finish());
}

std::vector<std::size_t> packed_offsets(const PackedSizes& sizes) {
    std::vector<std::size_t> offsets = {0};
    for (const std::size_t size : sizes) {
        offsets.push_back(offsets.back() + rounded_up(size, kPackedAlignment));
    }
    return offsets;
}

Result<std::size_t> check_packed(std::span<const std::byte> file, const PackedKey& key,
                                 const PackedSizes& sizes, ThreadPool* pool, const LoadWatch* watch) {
    const std::vector<PackedPiece> pieces = pieces_of(sizes);
    const std::vector<std::size_t> offsets = packed_offsets(sizes);
    std::string_view rest = base::as_text(file);
    if (!rest.starts_with(kPackedMagic)) return corrupt_packed("this is no such file");
    rest.remove_prefix(kPackedMagic.size());
    const std::size_t head_bytes = kPackedMagic.size() + kPackedKeyDigits + (2 + pieces.size()) * 8;
    const std::size_t offset = rounded_up(head_bytes + sizeof(base::Digest), kPackedPage);
    if (rest.size() < kPackedKeyDigits) return corrupt_packed("the file is cut short");
    if (!rest.starts_with(key)) return corrupt_packed("the file belongs to another model");
    rest.remove_prefix(kPackedKeyDigits);
    const auto n_bytes = base::take_u64(rest);
    const auto n_pieces = base::take_u64(rest);
    if (!n_pieces) return corrupt_packed("the file is cut short");
    if (*n_bytes != offsets.back() || *n_pieces != pieces.size()) {
        return corrupt_packed("its sizes are not those of the model");
    }
    if (file.size() < offset + offsets.back()) return corrupt_packed("the file is cut short");
    if (file.size() > offset + offsets.back()) return corrupt_packed("the file is too long");
    const base::Digest digest = base::sha256(file.first(head_bytes));
    if (std::memcmp(digest.data(), file.data() + head_bytes, sizeof(digest)) != 0) {
        return corrupt_packed("the checksum of its head does not match");
    }

    std::atomic<bool> is_damaged{false};
    LoadCount count(watch, 0.0, 1.0, offsets.back());
    run_parts(pool, pieces.size(), [&](std::size_t i) {
        if (count.is_cancelled() || is_damaged.load(std::memory_order_relaxed)) return;
        const auto piece = file.subspan(offset + offsets[pieces[i].matrix] + pieces[i].begin, pieces[i].size);
        base::fetch_pages(piece);
        std::string_view stored = rest.substr(i * sizeof(std::uint64_t));
        if (checksum(piece) != base::take_u64(stored)) is_damaged = true;
        count.add(piece.size());
    });
    if (is_damaged) return corrupt_packed("a checksum does not match");
    if (count.is_cancelled()) return Status(Code::Cancelled, "cancelled");
    return offset;
}

Result<PackedFile> PackedFile::open(const std::string& path, const PackedKey& key, const PackedSizes& sizes,
                                    ThreadPool& pool, const LoadWatch* watch) {
    PackedFile file;
    CLASP_ASSIGN_OR_RETURN(file.mapped_, base::MappedFile::open(path));
    CLASP_ASSIGN_OR_RETURN(file.offset_, check_packed(file.mapped_.bytes(), key, sizes, &pool, watch));
    return file;
}

Status write_packed(base::AtomicFile& file, const PackedKey& key,
                    std::span<const std::span<const std::byte>> matrices, PackedWriting& writing) {
    PackedSizes sizes;
    for (const auto& matrix : matrices) sizes.push_back(matrix.size());
    const std::vector<PackedPiece> pieces = pieces_of(sizes);
    Status stopped = {Code::Cancelled, "cancelled"};
    std::vector<std::uint64_t> checksums;
    for (const PackedPiece& piece : pieces) {
        if (writing.stop) return stopped;
        checksums.push_back(checksum(matrices[piece.matrix].subspan(piece.begin, piece.size)));
    }
    std::string head = head_of(key, packed_offsets(sizes).back(), checksums);
    head.resize(rounded_up(head.size(), kPackedPage), '\0');
    CLASP_RETURN_IF_ERROR(file.append(head));
    for (const PackedPiece& piece : pieces) {
        if (writing.stop) return stopped;
        CLASP_RETURN_IF_ERROR(
            file.append(base::as_text(matrices[piece.matrix].subspan(piece.begin, piece.size))));
        writing.n_bytes += piece.size;
        const std::size_t end = piece.begin + piece.size;
        if (end < sizes[piece.matrix]) continue;
        CLASP_RETURN_IF_ERROR(file.append(std::string(rounded_up(end, kPackedAlignment) - end, '\0')));
    }
    return ok_status();
}

}  // namespace clasp::model
