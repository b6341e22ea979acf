// Bytes of a cached file with a checksum: what fuzz targets of such files have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"
#include "base/sha256.h"
#include "require.h"

namespace clasp::fuzz {

// Refused with a message, or something that survives a round trip. The first byte chooses whether the
// checksum is made right, without which nothing behind it would be reached.
template <typename Parse, typename Serialise>
void check_cached(const std::uint8_t* data, std::size_t size, Parse parse, Serialise serialise) {
    static const std::string key(64, '0');
    if (size == 0) return;
    std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 8 != 0) {
        const base::Digest digest = base::sha256(base::as_bytes(bytes));
        bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    }
    const auto parsed = parse(key, bytes);
    if (!parsed.ok()) {
        require(!parsed.status().message().empty());
        return;
    }
    const std::string written = serialise(key, *parsed);
    const auto again = parse(key, written);
    require(again.ok());
    require(serialise(key, *again) == written);
}

}  // namespace clasp::fuzz
