// Any bytes through the sniffing entry point: every decoder, orientation and the limits.
#include <cstddef>
#include <cstdint>
#include <span>

#include "check_picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    clasp::fuzz::check_picture(std::span(data, size));
    return 0;
}
