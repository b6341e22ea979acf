#include "methods/hired.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/fastervlm.h"
#include "methods/methods.h"
#include "methods/ranking.h"

namespace clasp::methods {
namespace {

Status check_shape(const HiredTiles& shape, const HiredOptions& options) {
    if (shape.rows == 0 || shape.columns == 0 || shape.tile_rows == 0 || shape.tile_columns == 0) {
        return {Code::InvalidArgument, "a picture needs at least one patch and one tile"};
    }
    if (!(options.base_share >= 0.0 && options.base_share <= 1.0)) {
        return {Code::InvalidArgument, "the share of the whole picture " +
                                           std::to_string(options.base_share) + " is outside [0, 1]"};
    }
    const bool is_even = options.region == HiredRegion::Strip
                             ? shape.rows * shape.columns % (shape.tile_rows * shape.tile_columns) == 0
                             : shape.rows % shape.tile_rows == 0 && shape.columns % shape.tile_columns == 0;
    if (!is_even) {
        return {Code::Unsupported, std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                                       " patches cannot be cut evenly into " +
                                       std::to_string(shape.tile_rows) + " x " +
                                       std::to_string(shape.tile_columns) + " tiles"};
    }
    return ok_status();
}

std::size_t tile_of(TokenIndex patch, const HiredTiles& shape, HiredRegion region) {
    const std::size_t n_tiles = shape.tile_rows * shape.tile_columns;
    if (region == HiredRegion::Strip) return patch / (shape.rows * shape.columns / n_tiles);
    const std::size_t row = patch / shape.columns / (shape.rows / shape.tile_rows);
    const std::size_t column = patch % shape.columns / (shape.columns / shape.tile_columns);
    return row * shape.tile_columns + column;
}

// Gives what rounding lost, one each, to the tiles with the largest remainders that have room.
void give_remainder(std::span<const float> remainders, std::size_t budget, std::size_t room,
                    std::vector<std::size_t>& tiles) {
    std::size_t given = 0;
    for (const std::size_t count : tiles) given += count;
    const std::vector<TokenIndex> order = ranked(remainders);
    while (given < budget) {
        const std::size_t before = given;
        for (const TokenIndex tile : order) {
            if (given == budget) return;
            if (tiles[tile] == room) continue;
            ++tiles[tile];
            ++given;
        }
        if (given == before) return;
    }
}

}  // namespace

Result<HiredBudgets> hired_budgets(std::span<const float> first_block_attention, const HiredTiles& shape,
                                   std::size_t budget, const HiredOptions& options) {
    CLASP_RETURN_IF_ERROR(check_shape(shape, options));
    const std::size_t n_patches = shape.rows * shape.columns;
    CLASP_RETURN_IF_ERROR(check_scores(first_block_attention, n_patches, "class attention"));
    CLASP_RETURN_IF_ERROR(check_budget(budget, n_patches));
    const std::size_t n_tiles = shape.tile_rows * shape.tile_columns;

    HiredBudgets budgets;
    const auto wanted = static_cast<std::size_t>(static_cast<double>(budget) * options.base_share);
    budgets.base = std::min(wanted, n_patches);
    const std::size_t for_tiles = std::min(budget - budgets.base, n_tiles * n_patches);

    const auto n_marked =
        static_cast<std::size_t>(static_cast<double>(n_patches) * (1.0 - options.base_share));
    std::vector<std::size_t> marked(n_tiles, 0);
    for (const TokenIndex patch : highest(first_block_attention, n_marked)) {
        ++marked[tile_of(patch, shape, options.region)];
    }
    std::vector<float> remainders(n_tiles, 0.0F);
    budgets.tiles.assign(n_tiles, 0);
    for (std::size_t tile = 0; tile < n_tiles && n_marked > 0; ++tile) {
        const double exact = static_cast<double>(marked[tile]) / static_cast<double>(n_marked) *
                             static_cast<double>(for_tiles);
        budgets.tiles[tile] = std::min(static_cast<std::size_t>(exact), n_patches);
        remainders[tile] = static_cast<float>(exact - std::floor(exact));
    }
    if (options.gives_remainder) give_remainder(remainders, for_tiles, n_patches, budgets.tiles);
    return budgets;
}

Method hired_method() {
    return {.name = "hired",
            .summary = "class attention chooses, on one view as fastervlm does",
            .paper =
                "HiRED: Attention-Guided Token Dropping for Efficient Inference of High-Resolution "
                "Vision-Language Models (AAAI 2025)",
            .start = [](const Setup& setup) { return start_most_attended(setup, "hired"); }};
}

}  // namespace clasp::methods
