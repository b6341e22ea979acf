// What a file is, told from its first bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace clasp::image {

// A noun for what the bytes look like when they are no picture that we decode, for the error message:
// "an MP4 video", "a PDF document", "text"; empty when nothing is recognised.
std::string describe_foreign(std::span<const std::uint8_t> bytes);

}  // namespace clasp::image
