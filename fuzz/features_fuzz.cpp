// Any bytes as a file of cached features: refused with a message, or layers that survive a round trip. The
// first byte chooses whether the checksum is made right, without which nothing behind it would be reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/sha256.h"
#include "engine/feature_cache.h"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string key(64, '0');
    if (size == 0) return 0;
    std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 8 != 0) {
        const clasp::base::Digest digest = clasp::base::sha256(clasp::base::as_bytes(bytes));
        bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    }
    const auto layers = clasp::engine::parse_layers(key, bytes);
    if (!layers.ok()) {
        require(!layers.status().message().empty());
        return 0;
    }
    const std::string written = clasp::engine::serialise_layers(key, *layers);
    const auto again = clasp::engine::parse_layers(key, written);
    require(again.ok());
    require(clasp::engine::serialise_layers(key, *again) == written);
    return 0;
}
