// Any bytes as a file of cached features.
#include <cstddef>
#include <cstdint>

#include "check_cached.h"
#include "engine/feature_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    clasp::fuzz::check_cached(data, size, clasp::engine::parse_layers, clasp::engine::serialise_layers);
    return 0;
}
