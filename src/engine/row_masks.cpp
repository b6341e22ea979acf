#include "engine/row_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ggml.h"

namespace clasp::engine {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<MaskRow> mask_rows(std::span<const LiveRow> rows) {
    std::vector<MaskRow> result;
    result.reserve(rows.size());
    for (const LiveRow& row : rows) {
        result.push_back({row.position.planes[0], row.image, std::log(row.mass)});
    }
    return result;
}

bool sees(std::span<const MaskRow> rows, std::size_t query, std::size_t key, const MaskRule& rule) {
    const MaskRow& q = rows[query];
    const MaskRow& k = rows[key];
    if (key > query) return rule.images_see_both_ways && q.image >= 0 && q.image == k.image;
    return rule.window == 0 || q.position - k.position < rule.window;
}

bool sees_all(std::span<const MaskRow> rows, std::size_t query, const MaskRule& rule) {
    for (std::size_t key = 0; key <= query; ++key) {
        if (rows[key].key_bias != 0.0F || !sees(rows, query, key, rule)) return false;
    }
    return true;
}

std::vector<std::uint16_t> attention_mask(std::span<const MaskRow> rows, std::size_t first, std::size_t n,
                                          const MaskRule& rule) {
    const std::size_t n_keys = first + n;
    std::vector<ggml_fp16_t> visible(n_keys);
    for (std::size_t k = 0; k < n_keys; ++k) visible[k] = ggml_fp32_to_fp16(rows[k].key_bias);
    std::vector<std::uint16_t> mask(n_keys * n, ggml_fp32_to_fp16(kHidden));
    for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t* row = mask.data() + i * n_keys;
        if (rule.window == 0) {
            std::copy_n(visible.begin(), first + i + 1, row);
        } else {
            for (std::size_t k = 0; k <= first + i; ++k) {
                if (sees(rows, first + i, k, rule)) row[k] = visible[k];
            }
        }
        // What lies behind a query is a run of its own picture, if anything.
        for (std::size_t k = first + i + 1; k < n_keys && sees(rows, first + i, k, rule); ++k) {
            row[k] = visible[k];
        }
    }
    return mask;
}

std::vector<float> probe_mask(std::span<const MaskRow> rows, std::span<const std::int32_t> queries,
                              const MaskRule& rule) {
    std::vector<float> mask(queries.size() * rows.size(), kHidden);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const auto query = static_cast<std::size_t>(queries[i]);
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (sees(rows, query, k, rule)) mask[i * rows.size() + k] = 0.0F;
        }
    }
    return mask;
}

std::size_t piece_end(std::span<const LiveRow> rows, std::size_t begin, std::size_t size,
                      bool images_see_both_ways) {
    std::size_t end = std::min(begin + size, rows.size());
    if (!images_see_both_ways) return end;
    while (end < rows.size() && rows[end].image >= 0 && rows[end].image == rows[end - 1].image) ++end;
    return end;
}

}  // namespace clasp::engine
