#include "model/attention_tile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "model/attention_kernel.h"
#include "model/packed_matrix.h"

namespace clasp::model {

namespace {

using namespace attention;
static_assert(kTile == kTileRows);

constexpr std::size_t kMaxHeadWidth = 512;
// Keys and values of a block together take as many floats twice: half of a small second-level cache.
constexpr std::size_t kBlockFloats = 32768;
constexpr std::size_t kMaxBlock = kBlockFloats / kPanel;
constexpr float kHidden = -std::numeric_limits<float>::infinity();
constexpr std::uint16_t kHiddenHalf = 0xFC00;

std::size_t padded(std::size_t n_keys) {
    return (n_keys + kPanel - 1) / kPanel * kPanel;
}

std::size_t keys_size(std::size_t n_keys, std::size_t head_width) {
    return padded(n_keys) * head_width;
}

#ifdef CLASP_HAVE_X86_KERNELS

using Multiply = void (*)(const Step&);
constexpr std::size_t kPanelsAtOnce = 2;
constexpr std::size_t kTilesAtOnce = 8;  // that share a block while it is near

std::size_t block_keys(std::size_t head_width) {
    return std::max(kBlockFloats / head_width / kPanel * kPanel, kPanel);
}

std::size_t panels_from(std::size_t column, std::size_t n_columns) {
    return std::min(kPanelsAtOnce, (n_columns - column + kPanel - 1) / kPanel);
}

// Keys first ... end - 1 that a row sees at most, by looking from both ends, four at a time.
struct KeyRange {
    std::size_t first = 0;
    std::size_t end = 0;
};

KeyRange seen_keys(const std::uint16_t* mask, std::size_t n_keys) {
    constexpr std::size_t kAtOnce = 4;
    constexpr std::uint64_t kAllHidden = 0xFC00FC00FC00FC00ULL;
    const auto all_hidden = [mask](std::size_t key) {
        std::uint64_t four = 0;
        std::memcpy(&four, mask + key, sizeof(four));
        return four == kAllHidden;
    };
    KeyRange range = {0, n_keys};
    while (range.first + kAtOnce <= n_keys && all_hidden(range.first)) range.first += kAtOnce;
    while (range.first < n_keys && mask[range.first] == kHiddenHalf) ++range.first;
    while (range.end >= range.first + kAtOnce && all_hidden(range.end - kAtOnce)) range.end -= kAtOnce;
    while (range.end > range.first && mask[range.end - 1] == kHiddenHalf) --range.end;
    return range;
}

// A tile on its way through the keys.
struct Progress {
    const AttentionTile* tile = nullptr;
    KeyRange range;
    bool has_begun = false;
    float tops[kTile];             // of the scores so far
    float sums[kTile];             // of the exponentials so far
    float nowhere[kMaxHeadWidth];  // for rows that the tile does not have

    void begin(const AttentionTile& of, std::size_t n_keys) {
        tile = &of;
        has_begun = false;
        std::fill_n(tops, kTile, kHidden);
        std::fill_n(sums, kTile, 0.0F);
        range = {0, n_keys};
        if (of.mask[0] == nullptr) return;
        range = {n_keys, 0};
        for (std::size_t row = 0; row < of.n_rows; ++row) {
            const KeyRange seen = seen_keys(of.mask[row], n_keys);
            range.first = std::min(range.first, seen.first);
            range.end = std::max(range.end, seen.end);
        }
    }
    // Rows that do not exist repeat the last one, and write where nothing is read.
    [[nodiscard]] std::size_t source(std::size_t row) const { return std::min(row, tile->n_rows - 1); }
    [[nodiscard]] float* y(std::size_t row) { return row < tile->n_rows ? tile->y[row] : nowhere; }
};

class TileRun {
   public:
    TileRun(const PackedHead& head, float scale, Multiply multiply)
        : head_(head), scale_(scale), multiply_(multiply) {}

    // Adds what the keys first ... end - 1 have to say.
    void add_block(Progress& progress, std::size_t first, std::size_t end) {
        score(progress, first, end);
        mix(progress, first, end);
    }

    void finish(Progress& progress) const {
        for (std::size_t row = 0; row < progress.tile->n_rows; ++row) {
            float* y = progress.tile->y[row];
            if (!progress.has_begun) std::fill_n(y, head_.head_width, 0.0F);
            const float sum = progress.sums[row];
            scale_avx2(y, head_.head_width, sum == 0.0F ? 0.0F : 1.0F / sum);
        }
    }

   private:
    void score(Progress& progress, std::size_t first, std::size_t end) {
        const std::size_t n = end - first;
        const std::size_t stride = padded(n);
        Step step;
        step.depth = head_.head_width;
        step.panel_stride = head_.head_width * kPanel;
        for (std::size_t key = 0; key < n; key += kPanelsAtOnce * kPanel) {
            step.n_panels = panels_from(key, n);
            step.b = head_.data + (first + key) * head_.head_width;
            for (std::size_t row = 0; row < kTile; ++row) {
                step.a[row] = progress.tile->query[progress.source(row)];
                step.c[row] = scores_ + row * stride + key;
            }
            multiply_(step);
        }
        for (std::size_t row = 0; row < kTile; ++row) {
            float* of_row = scores_ + row * stride;
            std::fill(of_row + n, of_row + stride, kHidden);
            const std::uint16_t* mask = progress.tile->mask[progress.source(row)];
            if (mask != nullptr) add_halves_avx2(of_row, mask + first, n, 1.0F / scale_);
            take_exponentials(progress, row, of_row, stride);
        }
    }

    void take_exponentials(Progress& progress, std::size_t row, float* of_row, std::size_t n) const {
        const float top = maximum_avx2(of_row, n);
        const float before = progress.tops[row];
        const float now = before > top ? before : top;  // not a number stays so
        if (now > before && before != kHidden) {
            const float factor = std::exp(scale_ * (before - now));
            scale_avx2(progress.y(row), head_.head_width, factor);
            progress.sums[row] *= factor;
        }
        progress.tops[row] = now;
        progress.sums[row] += exponentials_avx2(of_row, n, scale_, now == kHidden ? 0.0F : now);
    }

    void mix(Progress& progress, std::size_t first, std::size_t end) {
        const std::size_t stride = padded(end - first);
        const float* values = head_.data + keys_size(head_.n_keys, head_.head_width);
        Step step;
        step.depth = end - first;
        step.panel_stride = head_.n_keys * kPanel;
        for (std::size_t column = 0; column < head_.head_width; column += kPanelsAtOnce * kPanel) {
            step.n_panels = panels_from(column, head_.head_width);
            step.b = values + column * head_.n_keys + first * kPanel;
            for (std::size_t row = 0; row < kTile; ++row) {
                step.a[row] = scores_ + row * stride;
                step.c[row] = (progress.has_begun ? found_ + row * kMaxHeadWidth : progress.y(row)) + column;
            }
            multiply_(step);
        }
        if (progress.has_begun) {
            for (std::size_t row = 0; row < progress.tile->n_rows; ++row) {
                add_avx2(progress.tile->y[row], found_ + row * kMaxHeadWidth, head_.head_width);
            }
        }
        progress.has_begun = true;
    }

    const PackedHead& head_;
    float scale_;
    Multiply multiply_;
    alignas(64) float scores_[kTile * kMaxBlock];
    alignas(64) float found_[kTile * kMaxHeadWidth];
};

#endif

}  // namespace

std::size_t PackedHead::size(std::size_t n_keys, std::size_t head_width) {
    return keys_size(n_keys, head_width) + n_keys * head_width;
}

bool PackedHead::fits(std::size_t head_width) {
#ifdef CLASP_HAVE_X86_KERNELS
    return PackedMatrix::is_fast() && head_width % kPanel == 0 && head_width > 0 &&
           head_width <= kMaxHeadWidth;
#else
    (void)head_width;
    return false;
#endif
}

void PackedHead::clear_padding() const {
    for (std::size_t row = n_keys; row < padded(n_keys); ++row) {
        float* to = data + row / kPanel * kPanel * head_width + row % kPanel;
        for (std::size_t i = 0; i < head_width; ++i) to[i * kPanel] = 0.0F;
    }
}

void PackedHead::set(std::size_t row, const float* key, const float* value) const {
    float* to = data + row / kPanel * kPanel * head_width + row % kPanel;
    for (std::size_t i = 0; i < head_width; ++i) to[i * kPanel] = key[i];
    float* values = data + keys_size(n_keys, head_width);
    for (std::size_t column = 0; column < head_width; column += kPanel) {
        std::copy_n(value + column, kPanel, values + column * n_keys + row * kPanel);
    }
}

void attend_tiles([[maybe_unused]] std::span<const AttentionTile> tiles,
                  [[maybe_unused]] const PackedHead& head, [[maybe_unused]] float scale,
                  [[maybe_unused]] KernelSet kernels) {
#ifdef CLASP_HAVE_X86_KERNELS
    TileRun run(head, scale, kernels == KernelSet::Avx512 ? multiply_avx512 : multiply_avx2);
    const std::size_t block = block_keys(head.head_width);
    Progress progress[kTilesAtOnce];
    for (std::size_t from = 0; from < tiles.size(); from += kTilesAtOnce) {
        const std::size_t n = std::min(kTilesAtOnce, tiles.size() - from);
        for (std::size_t i = 0; i < n; ++i) progress[i].begin(tiles[from + i], head.n_keys);
        // Blocks begin at the same keys for every tile: so a row's sums do not depend on its neighbours.
        for (std::size_t first = 0; first < head.n_keys; first += block) {
            const std::size_t end = std::min(first + block, head.n_keys);
            for (std::size_t i = 0; i < n; ++i) {
                // What is left out is hidden from all rows: adding it would change no bit.
                const std::size_t from_key = std::max(first, progress[i].range.first / kPanel * kPanel);
                const std::size_t to_key = std::min(end, progress[i].range.end);
                if (from_key < to_key) run.add_block(progress[i], from_key, to_key);
            }
        }
        for (std::size_t i = 0; i < n; ++i) run.finish(progress[i]);
    }
#endif
}

}  // namespace clasp::model
