#include "image/gif_codes.h"

#include <algorithm>
#include <cstdint>

namespace clasp::image {

namespace {

constexpr unsigned kMaxCodeBits = 12;
constexpr unsigned kMaxSymbolBits = 8;

// Bytes of consecutive sub-blocks as one stream of bits, lowest first.
class BitStream {
   public:
    explicit BitStream(Bytes blocks) : rest_(blocks) {}

    // False when the data has ended.
    bool take(unsigned n_bits, unsigned& value) {
        while (n_held_ < n_bits) {
            if (!fill()) return false;
        }
        value = held_ & ((1U << n_bits) - 1);
        held_ >>= n_bits;
        n_held_ -= n_bits;
        return true;
    }

   private:
    bool fill() {
        if (block_.empty()) {
            if (rest_.empty() || rest_[0] == 0) return false;
            const std::size_t length = std::min<std::size_t>(rest_[0], rest_.size() - 1);
            block_ = rest_.subspan(1, length);
            rest_ = rest_.subspan(1 + length);
            if (block_.empty()) return false;
        }
        held_ |= std::uint32_t{block_[0]} << n_held_;
        n_held_ += 8;
        block_ = block_.subspan(1);
        return true;
    }

    Bytes rest_;   // sub-blocks to come
    Bytes block_;  // the rest of the one being read
    std::uint32_t held_ = 0;
    unsigned n_held_ = 0;
};

}  // namespace

std::size_t count_clear_codes(Bytes blocks, unsigned code_bits, std::size_t max_codes) {
    if (code_bits > kMaxSymbolBits) return 0;  // giflib refuses it
    const unsigned clear = 1U << code_bits;
    const unsigned end = clear + 1;
    BitStream stream(blocks);
    std::size_t n_clear = 0;
    unsigned n_bits = code_bits + 1;
    unsigned n_entries = end + 1;
    unsigned code = 0;
    while (n_clear < max_codes && stream.take(n_bits, code) && code != end) {
        if (code == clear) {
            ++n_clear;
            n_bits = code_bits + 1;
            n_entries = end + 1;
        } else if (n_entries < (1U << kMaxCodeBits) + 1) {
            // Codes grow with the number read since the table was cleared, whatever they say.
            ++n_entries;
            if (n_entries > 1U << n_bits && n_bits < kMaxCodeBits) ++n_bits;
        }
    }
    return n_clear;
}

}  // namespace clasp::image
