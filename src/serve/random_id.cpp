#include "serve/random_id.h"

#include <random>

namespace clasp::serve {

std::string random_id(std::string_view prefix) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    constexpr int kNumbers = 4;
    static thread_local std::random_device source;
    std::string id(prefix);
    for (int i = 0; i < kNumbers; ++i) {
        const unsigned number = source();
        for (unsigned shift = 0; shift < 32; shift += 4) id += kDigits[(number >> shift) & 15U];
    }
    return id;
}

}  // namespace clasp::serve
