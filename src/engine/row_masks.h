// Which keys a query sees, and with what bias, as the masks that attention adds to its logits. What counts is
// the order of the rows and the positions that they entered with, never the place of a key in the cache:
// after tokens are dropped, windows still span the same part of the prompt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/live_rows.h"

namespace clasp::engine {

// What a mask needs to know of a row, as query and as key.
struct MaskRow {
    std::int32_t position = 0;  // of the first plane
    std::int32_t image = -1;
    float key_bias = 0.0F;  // ln(mass): added to the logits of the row's key
};

std::vector<MaskRow> mask_rows(std::span<const LiveRow> rows);

struct MaskRule {
    std::int32_t window = 0;  // positions that a query sees, itself included; 0 for all
    bool images_see_both_ways = false;
};

// Row numbers follow the order of the sequence. A query sees keys up to itself and, where pictures see both
// ways, those of its own picture behind it; a window hides what stands that many positions before it.
bool sees(std::span<const MaskRow> rows, std::size_t query, std::size_t key, const MaskRule& rule);

// Whether a query sees every key up to itself as it is.
bool sees_all(std::span<const MaskRow> rows, std::size_t query, const MaskRule& rule);

// The mask in half precision of queries first ... first + n - 1 over keys 0 ... first + n - 1: biases where
// the key is seen, else -inf; queries x keys.
std::vector<std::uint16_t> attention_mask(std::span<const MaskRow> rows, std::size_t first, std::size_t n,
                                          const MaskRule& rule);

// The mask of a look at attention: all rows are keys, biases are left out; queries x rows.
std::vector<float> probe_mask(std::span<const MaskRow> rows, std::span<const std::int32_t> queries,
                              const MaskRule& rule);

// Where the piece that begins with row `begin` ends so that it has about `size` rows and cuts no picture
// whose tokens see each other.
std::size_t piece_end(std::span<const LiveRow> rows, std::size_t begin, std::size_t size,
                      bool images_see_both_ways);

}  // namespace clasp::engine
