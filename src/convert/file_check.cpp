// Files of a checkpoint against the checksums that came with them.
#include <algorithm>
#include <map>

#include "base/sha256.h"
#include "base/text.h"
#include "convert/checkpoint.h"

namespace clasp::convert {
namespace {

constexpr std::size_t kCheckChunk = std::size_t{8} << 20U;
constexpr std::size_t kMaxSumsBytes = std::size_t{1} << 20U;

bool is_sha256(std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

// The sum that a download noted: the second line, where it is no other kind of tag.
std::string noted_sum(const std::string& folder, const std::string& name) {
    const auto text =
        read_small_file(folder, ".cache/huggingface/download/" + name + ".metadata", kMaxSumsBytes);
    if (!text.ok() || !*text) return "";
    const auto lines = base::split(**text, '\n');
    if (lines.size() < 2 || !is_sha256(lines[1])) return "";
    return std::string(lines[1]);
}

// The sum of a list as sha256sum writes it.
std::string listed_sum(const std::string& folder, const std::string& name) {
    const auto text = read_small_file(folder, "SHA256SUMS", kMaxSumsBytes);
    if (!text.ok() || !*text) return "";
    for (const std::string_view line : base::split(**text, '\n')) {
        if (line.size() < 67 || line.substr(66) != name) continue;
        std::string sum = base::lower(line.substr(0, 64));
        if (is_sha256(sum)) return sum;
    }
    return "";
}

std::string expected_sum(const Checkpoint& checkpoint, const WeightFile& file) {
    std::string sum = listed_sum(checkpoint.folder(), file.name);
    return sum.empty() ? noted_sum(checkpoint.folder(), file.name) : sum;
}

// One pass over the file: its hash, and the checksum of each entry as it goes by.
Status check_file(WeightFile& file, const std::string& expected, std::uint64_t& done,
                  const CheckProgress& progress) {
    const ByteSource& source = *file.source;
    std::vector<const ZipEntry*> entries;
    for (const ZipEntry& entry : file.entries) entries.push_back(&entry);
    std::sort(entries.begin(), entries.end(),
              [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
    base::Sha256 hash;
    std::size_t next = 0;
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < source.size();) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kCheckChunk, source.size() - at));
        CLASP_ASSIGN_OR_RETURN(const std::string bytes, source.read(at, n));
        hash.update(bytes);
        for (; next < entries.size() && entries[next]->offset < at + n; ++next) {
            const ZipEntry& entry = *entries[next];
            const std::uint64_t from = std::max(entry.offset, at);
            const std::uint64_t to = std::min(entry.offset + entry.size, at + n);
            crc = crc32_of(crc, std::string_view(bytes).substr(static_cast<std::size_t>(from - at),
                                                               static_cast<std::size_t>(to - from)));
            if (entry.offset + entry.size > at + n) break;  // it goes on in the next piece
            if (crc != entry.crc32) {
                return source.corrupt("the checksum of its entry " + base::in_quotes(entry.name) +
                                      " does not match: the file is damaged, or was saved without checksums "
                                      "(--no-verify)");
            }
            crc = 0;
        }
        at += n;
        done += n;
        if (progress && !progress(done)) return {Code::Cancelled, "stopped; nothing was written"};
    }
    file.sha256 = base::to_hex(hash.finish());
    if (expected.empty() || expected == file.sha256) return ok_status();
    return source.corrupt("its SHA-256 is " + file.sha256 + ", but " + expected +
                          " came with it: the file is damaged or was changed (--no-verify)");
}

}  // namespace

std::uint64_t bytes_to_check(const Checkpoint& checkpoint) {
    std::uint64_t bytes = 0;
    for (const WeightFile& file : checkpoint.files()) {
        if (!file.entries.empty() || !expected_sum(checkpoint, file).empty()) bytes += file.source->size();
    }
    return bytes;
}

Status check_files(Checkpoint& checkpoint, const CheckProgress& progress) {
    std::uint64_t done = 0;
    for (WeightFile& file : checkpoint.files()) {
        const std::string expected = expected_sum(checkpoint, file);
        if (file.entries.empty() && expected.empty()) continue;
        CLASP_RETURN_IF_ERROR(check_file(file, expected, done, progress));
    }
    return ok_status();
}

}  // namespace clasp::convert
