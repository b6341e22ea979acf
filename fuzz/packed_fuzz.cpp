// Any bytes as a file of packed matrices: refused with a message, or whole. The first byte chooses whether
// the file is made right but for one byte, without which nothing behind its head would be reached.
#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/file.h"
#include "model/packed_file.h"
#include "require.h"

namespace {

using clasp::fuzz::require;
using clasp::model::check_packed;

// A right file over these bytes as its two matrices.
std::string packed(const std::string& key, std::span<const std::byte> bytes, std::size_t cut) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("packed-fuzz-" + std::to_string(::getpid()));
    auto file = clasp::base::AtomicFile::create(path);
    require(file.ok());
    const std::array matrices = {bytes.first(cut), bytes.subspan(cut)};
    clasp::model::PackedWriting writing;
    require(clasp::model::write_packed(*file, key, matrices, writing).ok());
    require(file->commit(clasp::base::Flush::LeaveToSystem).ok());
    auto written = clasp::base::read_file(path, std::size_t{1} << 30U);
    require(written.ok());
    std::filesystem::remove(path);
    return std::move(*written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string key(64, '0');
    if (size < 4) return 0;
    const std::span<const std::byte> rest = std::as_bytes(std::span(data + 4, size - 4));
    const std::size_t cut = rest.size() * data[1] / 256;
    const clasp::model::PackedSizes sizes = {cut, rest.size() - cut};
    if (data[0] % 2 == 0) {
        const auto found = check_packed(rest, key, {cut}, nullptr, nullptr);
        require(found.ok() || !found.status().message().empty());
        return 0;
    }
    std::string file = packed(key, rest, cut);
    require(check_packed(clasp::base::as_bytes(file), key, sizes, nullptr, nullptr).ok());
    const std::size_t head = clasp::model::kPackedMagic.size() + key.size();
    const std::size_t place = (head + data[2]) % file.size();
    file[place] = static_cast<char>(file[place] ^ (data[3] | 1));
    const auto found = check_packed(clasp::base::as_bytes(file), key, sizes, nullptr, nullptr);
    require(found.ok() || !found.status().message().empty());
    return 0;
}
