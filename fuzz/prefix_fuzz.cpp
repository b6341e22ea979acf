// Any bytes as a file of a cached prefix, and as one of a decoder's times.
#include <cstddef>
#include <cstdint>

#include "check_cached.h"
#include "engine/decoder_times.h"
#include "engine/start_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    clasp::fuzz::check_cached(data, size, clasp::engine::parse_start, clasp::engine::serialise_start);
    clasp::fuzz::check_cached(data, size, clasp::engine::parse_times, clasp::engine::serialise_times);
    return 0;
}
