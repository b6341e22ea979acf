#include "clasp/fuse.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "base/checked.h"
#include "base/text.h"
#include "fuse/axis.h"
#include "fuse/kernel.h"

namespace clasp {
namespace {

using fuse::Tap;

// Grids beyond this side are not from any vision tower; the limit keeps products of sides exact.
constexpr std::size_t kMaxSide = std::size_t{1} << 20U;

Status bad(std::string message) {
    return {Code::InvalidArgument, std::move(message)};
}

std::string number(std::size_t value) {
    return std::to_string(value);
}

std::string grid_text(Grid grid) {
    return number(grid.height) + "x" + number(grid.width);
}

std::size_t stride_of(const LayerView& layer) {
    return layer.stride == 0 ? layer.width : layer.stride;
}

const std::byte* row_of(const LayerView& layer, std::size_t token) {
    return static_cast<const std::byte*>(layer.data) + token * stride_of(layer) * float_size(layer.type);
}

Status check_layers(std::span<const LayerView> layers, std::span<const float> weights) {
    if (layers.empty()) return bad("fusion needs at least one layer");
    if (weights.size() != layers.size()) {
        return bad(number(layers.size()) + " layers need as many weights, not " + number(weights.size()));
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const LayerView& layer = layers[l];
        if (!std::isfinite(weights[l]))
            return bad("the weight of layer view " + number(l) + " is not finite");
        if (layer.width != layers.front().width) {
            return bad("layers of different widths cannot be fused: layer view " + number(l) + " has width " +
                       number(layer.width) + ", the first has " + number(layers.front().width));
        }
        if (stride_of(layer) < layer.width) {
            return bad("layer view " + number(l) + " has rows " + number(layer.stride) +
                       " values apart, less than its width " + number(layer.width));
        }
        const auto values = base::checked_multiply(layer.n_tokens, stride_of(layer));
        if (!values || !base::checked_multiply(*values, sizeof(float))) {
            return Status(Code::TooLarge, "layer view " + number(l) + " is larger than memory can be");
        }
        if (layer.data == nullptr && *values != 0) return bad("layer view " + number(l) + " has no data");
    }
    return {};
}

Status check_out(std::size_t n_tokens, std::size_t width, std::span<float> out) {
    const auto wanted = base::checked_multiply(n_tokens, width);
    if (wanted && *wanted == out.size()) return {};
    return bad("the output holds " + number(out.size()) + " values, but " + number(n_tokens) +
               " tokens of width " + number(width) + " are fused");
}

Status check_grid(Grid grid, std::string_view what) {
    if (grid.height == 0 || grid.width == 0 || grid.height > kMaxSide || grid.width > kMaxSide) {
        return bad(std::string(what) + " " + grid_text(grid) + " has a side that is not between 1 and " +
                   number(kMaxSide));
    }
    return {};
}

bool is_flat(const LayerView& layer) {
    return stride_of(layer) == layer.width || layer.n_tokens <= 1;
}

// A layer, its weight and how the target grid reads it.
struct MappedLayer {
    LayerView view;
    float weight = 0.0F;
    std::size_t grid_width = 0;
    fuse::AxisMap rows;
    fuse::AxisMap columns;
};

void add_taps(const MappedLayer& layer, std::size_t y, std::size_t x, std::span<Tap> taps,
              std::size_t& n_taps) {
    for (const fuse::AxisTap& row : layer.rows.taps(y)) {
        for (const fuse::AxisTap& column : layer.columns.taps(x)) {
            const auto weight =
                static_cast<float>(static_cast<double>(layer.weight) * (row.weight * column.weight));
            taps[n_taps++] = {row_of(layer.view, row.index * layer.grid_width + column.index),
                              layer.view.type, weight};
        }
    }
}

Status fuse_mapped(const std::vector<MappedLayer>& layers, Grid to, std::size_t width, std::span<float> out,
                   ThreadPool* pool) {
    std::size_t most_taps = 0;
    for (const MappedLayer& layer : layers) most_taps += layer.rows.most_taps() * layer.columns.most_taps();
    if (most_taps == 0) {  // every weight is 0
        std::fill(out.begin(), out.end(), 0.0F);
        return {};
    }
    // One part per row of the target grid, each with its own list of taps, so that parts allocate nothing.
    std::vector<Tap> scratch(most_taps * to.height);
    const fuse::WeightedSum weighted_sum = fuse::best_weighted_sum();
    run_parts(pool, to.height, [&](std::size_t y) {
        const std::span<Tap> taps = std::span(scratch).subspan(y * most_taps, most_taps);
        for (std::size_t x = 0; x < to.width; ++x) {
            std::size_t n_taps = 0;
            for (const MappedLayer& layer : layers) add_taps(layer, y, x, taps, n_taps);
            weighted_sum(taps.first(n_taps), 0, width, out.data() + (y * to.width + x) * width);
        }
    });
    return {};
}

void fuse_flat(std::span<const Tap> taps, std::span<float> out, ThreadPool* pool) {
    // Two cores have enough parts to share, and a part is long enough not to notice its start.
    constexpr std::size_t kPart = std::size_t{1} << 15U;
    const fuse::WeightedSum weighted_sum = fuse::best_weighted_sum();
    run_parts(pool, (out.size() + kPart - 1) / kPart, [&](std::size_t part) {
        weighted_sum(taps, part * kPart, std::min(out.size(), (part + 1) * kPart), out.data());
    });
}

Status fuse_grids_checked(std::span<const LayerView> layers, std::span<const Grid> grids,
                          std::span<const float> weights, Grid to, Upsample upsample, std::span<float> out,
                          ThreadPool* pool) {
    std::vector<MappedLayer> mapped;
    for (std::size_t l = 0; l < layers.size(); ++l) {
        if (weights[l] == 0.0F) continue;
        mapped.push_back({layers[l], weights[l], grids[l].width,
                          fuse::AxisMap(grids[l].height, to.height, upsample),
                          fuse::AxisMap(grids[l].width, to.width, upsample)});
    }
    return fuse_mapped(mapped, to, layers.front().width, out, pool);
}

Status out_of_memory() {
    return {Code::OutOfMemory, "there is not enough memory to fuse layers"};
}

}  // namespace

Status fuse_layers(std::span<const LayerView> layers, std::span<const float> weights, std::span<float> out,
                   ThreadPool* pool) {
    CLASP_RETURN_IF_ERROR(check_layers(layers, weights));
    const std::size_t n_tokens = layers.front().n_tokens;
    for (std::size_t l = 1; l < layers.size(); ++l) {
        if (layers[l].n_tokens != n_tokens) {
            return bad("layers of different token counts need grids to be aligned: layer view " + number(l) +
                       " has " + number(layers[l].n_tokens) + ", the first has " + number(n_tokens));
        }
    }
    CLASP_RETURN_IF_ERROR(check_out(n_tokens, layers.front().width, out));
    if (out.empty()) return {};
    try {
        if (std::all_of(layers.begin(), layers.end(), is_flat)) {
            std::vector<Tap> taps;
            for (std::size_t l = 0; l < layers.size(); ++l) {
                if (weights[l] != 0.0F) taps.push_back({row_of(layers[l], 0), layers[l].type, weights[l]});
            }
            if (!taps.empty()) {
                fuse_flat(taps, out, pool);
                return {};
            }
            std::fill(out.begin(), out.end(), 0.0F);
            return {};
        }
        const Grid column{n_tokens, 1};
        const std::vector<Grid> grids(layers.size(), column);
        return fuse_grids_checked(layers, grids, weights, column, Upsample::Nearest, out, pool);
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
}

Status fuse_grids(std::span<const LayerView> layers, std::span<const Grid> grids,
                  std::span<const float> weights, Grid to, Upsample upsample, std::span<float> out,
                  ThreadPool* pool) {
    CLASP_RETURN_IF_ERROR(check_layers(layers, weights));
    if (grids.size() != layers.size()) {
        return bad(number(layers.size()) + " layers need as many grids, not " + number(grids.size()));
    }
    CLASP_RETURN_IF_ERROR(check_grid(to, "the target grid"));
    for (std::size_t l = 0; l < layers.size(); ++l) {
        CLASP_RETURN_IF_ERROR(check_grid(grids[l], "grid " + number(l)));
        if (grids[l].height * grids[l].width != layers[l].n_tokens) {
            return bad("grid " + grid_text(grids[l]) + " does not hold the " + number(layers[l].n_tokens) +
                       " tokens of layer view " + number(l));
        }
    }
    CLASP_RETURN_IF_ERROR(check_out(to.height * to.width, layers.front().width, out));
    if (out.empty()) return {};
    try {
        return fuse_grids_checked(layers, grids, weights, to, upsample, out, pool);
    } catch (const std::bad_alloc&) {
        return out_of_memory();
    }
}

Status align_layer(const LayerView& layer, Grid from, Grid to, Upsample upsample, std::span<float> out,
                   ThreadPool* pool) {
    const float weight = 1.0F;
    return fuse_grids({&layer, 1}, {&from, 1}, {&weight, 1}, to, upsample, out, pool);
}

}  // namespace clasp
