#include "methods/hired.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>

#include "methods/fastervlm.h"
#include "methods/methods.h"
#include "methods/ranking.h"
#include "methods/signals.h"

namespace clasp::methods {
namespace {

Status check_shape(const Grid& overview, const Grid& tiles, std::span<const std::size_t> rooms,
                   const HiredOptions& options) {
    if (overview.size() == 0 || tiles.size() == 0) {
        return {Code::InvalidArgument, "a picture needs at least one patch and one tile"};
    }
    if (rooms.size() != tiles.size()) {
        return {Code::InvalidArgument, "there are " + std::to_string(tiles.size()) + " tiles, but " +
                                           std::to_string(rooms.size()) + " counts of their patches"};
    }
    if (!(options.base_share >= 0.0 && options.base_share <= 1.0)) {
        return {Code::InvalidArgument,
                "the overview's share " + std::to_string(options.base_share) + " is outside [0, 1]"};
    }
    return ok_status();
}

std::size_t tile_of(TokenIndex patch, const Grid& overview, const Grid& tiles, HiredRegion region) {
    if (region == HiredRegion::Strip) return patch * tiles.size() / overview.size();
    const std::size_t row = patch / overview.width * tiles.height / overview.height;
    const std::size_t column = patch % overview.width * tiles.width / overview.width;
    return row * tiles.width + column;
}

std::size_t total(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

// Gives what is left of the budget, one each, to the tiles with the largest remainders that have room.
// Precondition: there is room for all of it.
void give_remainder(std::span<const float> remainders, std::span<const std::size_t> rooms, std::size_t budget,
                    std::vector<std::size_t>& tiles) {
    const std::vector<TokenIndex> order = ranked(remainders);
    std::size_t given = total(tiles);
    while (given < budget) {
        for (const TokenIndex tile : order) {
            if (given == budget) return;
            if (tiles[tile] == rooms[tile]) continue;
            ++tiles[tile];
            ++given;
        }
    }
}

}  // namespace

Result<HiredBudgets> hired_budgets(std::span<const float> first_block_attention, const Grid& overview,
                                   const Grid& tiles, std::span<const std::size_t> rooms, std::size_t budget,
                                   const HiredOptions& options) {
    CLASP_RETURN_IF_ERROR(check_shape(overview, tiles, rooms, options));
    const std::size_t n_patches = overview.size();
    CLASP_RETURN_IF_ERROR(check_scores(first_block_attention, n_patches, "class attention"));
    const std::size_t room = total(rooms);
    if (budget > n_patches + room) {
        return Status(Code::InvalidArgument, "the budget " + std::to_string(budget) + " exceeds the " +
                                                 std::to_string(n_patches + room) + " patches");
    }

    HiredBudgets budgets;
    const auto wanted = static_cast<std::size_t>(static_cast<double>(budget) * options.base_share);
    const std::size_t for_tiles = std::min(budget - std::min(wanted, n_patches), room);
    budgets.base = budget - for_tiles;

    const auto n_marked =
        static_cast<std::size_t>(static_cast<double>(n_patches) * (1.0 - options.base_share));
    std::vector<std::size_t> marked(tiles.size(), 0);
    for (const TokenIndex patch : highest(first_block_attention, n_marked)) {
        ++marked[tile_of(patch, overview, tiles, options.region)];
    }
    std::vector<float> remainders(tiles.size(), 0.0F);
    budgets.tiles.assign(tiles.size(), 0);
    for (std::size_t tile = 0; tile < tiles.size() && n_marked > 0; ++tile) {
        const double exact = static_cast<double>(marked[tile]) / static_cast<double>(n_marked) *
                             static_cast<double>(for_tiles);
        budgets.tiles[tile] = std::min(static_cast<std::size_t>(exact), rooms[tile]);
        remainders[tile] = static_cast<float>(exact - std::floor(exact));
    }
    // A picture keeps one patch at least, whatever rounding says.
    const bool is_empty = budgets.base + total(budgets.tiles) == 0;
    if (options.gives_remainder || is_empty) give_remainder(remainders, rooms, for_tiles, budgets.tiles);
    return budgets;
}

Result<Plan> hired(std::span<const float> class_attention, std::span<const float> first_block_attention,
                   const TileParts& parts, std::size_t keep, const HiredOptions& options) {
    const std::size_t n = parts.tile_of.size();
    CLASP_RETURN_IF_ERROR(check_budget(keep, n));
    CLASP_RETURN_IF_ERROR(check_scores(class_attention, n, "class attention"));
    CLASP_RETURN_IF_ERROR(check_scores(first_block_attention, n, "class attention of the first block"));
    if (keep >= n) return keep_all_tokens(n);
    // The rows of each tile, and behind them those of the overview.
    std::vector<std::vector<TokenIndex>> rows(parts.tiles.size() + 1);
    for (TokenIndex row = 0; row < n; ++row) {
        rows[std::min(parts.tile_of[row], parts.tiles.size())].push_back(row);
    }
    std::vector<std::size_t> rooms;
    for (std::size_t tile = 0; tile < parts.tiles.size(); ++tile) rooms.push_back(rows[tile].size());
    std::vector<float> first_block;
    for (const TokenIndex row : rows.back()) first_block.push_back(first_block_attention[row]);
    CLASP_ASSIGN_OR_RETURN(HiredBudgets budgets,
                           hired_budgets(first_block, parts.overview, parts.tiles, rooms, keep, options));
    budgets.tiles.push_back(budgets.base);
    std::vector<TokenIndex> kept;
    for (std::size_t part = 0; part < rows.size(); ++part) {
        std::vector<float> scores;
        for (const TokenIndex row : rows[part]) scores.push_back(class_attention[row]);
        for (const TokenIndex place : highest(scores, budgets.tiles[part])) kept.push_back(rows[part][place]);
    }
    return keep_tokens(std::move(kept), Reason::Pivot);
}

namespace {

class HiredRun : public MethodRun {
   public:
    HiredRun(const Setup& setup, std::size_t entering) : block_(setup.vision.feature_layer) {
        options_.base_share = setup.settings.number("base-share");
        if (setup.settings.is("faithful", "code")) {
            options_.region = HiredRegion::Strip;
            options_.gives_remainder = false;
        }
        if (setup.has_tiles && block_ != kFirstBlock) program_.encoder.class_attention = {kFirstBlock};
        program_.encoder.class_attention.push_back(block_);
        program_.has_after_projector = true;
        program_.entering = entering;
        program_.positions = PositionMode::Compact;
    }

    Status after_projector(const ImageInput& input, Plan& plan) override {
        const std::vector<float> attention = mean_class_attention(input, block_);
        if (input.parts == nullptr) {
            CLASP_ASSIGN_OR_RETURN(plan, fastervlm(attention, input.keep));
            return ok_status();
        }
        CLASP_ASSIGN_OR_RETURN(plan, hired(attention, mean_class_attention(input, kFirstBlock), *input.parts,
                                           input.keep, options_));
        return ok_status();
    }

   private:
    static constexpr std::size_t kFirstBlock = 0;

    std::size_t block_;
    HiredOptions options_;
};

Result<std::unique_ptr<MethodRun>> start_hired(const Setup& setup) {
    CLASP_RETURN_IF_ERROR(require_class_token(setup, "hired"));
    CLASP_ASSIGN_OR_RETURN(const std::size_t entering, entering_count(setup.budget, "hired"));
    return std::unique_ptr<MethodRun>(new HiredRun(setup, entering));
}

}  // namespace

Method hired_method() {
    return {.name = "hired",
            .summary = "class attention chooses; a picture's tiles get shares by the overview's",
            .paper =
                "HiRED: Attention-Guided Token Dropping for Efficient Inference of High-Resolution "
                "Vision-Language Models (AAAI 2025)",
            .options = {{.name = "base-share",
                         .help = "share of the budget for the overview of a picture that is cut into tiles",
                         .fallback = "0.5",
                         .type = OptionSpec::Type::Number,
                         .min = 0.0,
                         .max = 1.0},
                        faithful_option("paper")},
            .start = start_hired};
}

}  // namespace clasp::methods
