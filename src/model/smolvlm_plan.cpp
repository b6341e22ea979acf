#include "model/smolvlm_plan.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/vision_clip_file.h"

namespace clasp::model {

namespace {

constexpr const char* kAround = "<fake_token_around_image>";

// The smallest multiple that is not below.
int up_to_multiple(int value, int of) {
    return (value + of - 1) / of * of;
}

int made_even(int value) {
    return value + value % 2;
}

std::string size_text(PixelSize size) {
    return std::to_string(size.width) + " x " + std::to_string(size.height);
}

// The nearest multiple as llama.cpp rounds it, at least one tile.
int nearest_multiple(int value, int of) {
    return std::max(of,
                    static_cast<int>(std::round(static_cast<float>(value) / static_cast<float>(of))) * of);
}

void add_words(VisionPlan& plan, std::string text) {
    plan.arrangement.push_back({.kind = ArrangedRun::Kind::Text, .text = std::move(text)});
}

// A piece, the words before it and its tokens.
void add_piece(VisionPlan& plan, std::string words, const ImagePiece& piece) {
    add_words(plan, std::move(words));
    plan.arrangement.push_back({.kind = ArrangedRun::Kind::Tokens,
                                .piece = plan.pieces.size(),
                                .first = 0,
                                .count = piece.shape.n_tokens()});
    plan.pieces.push_back(piece);
    plan.layout.regions.push_back(
        {.grid = piece.shape.tokens(), .area = area_of(plan, piece), .view = piece.view});
}

// Each tile of a view, row by row; the word of a line break stands before the rows that follow.
void add_tiles(VisionPlan& plan, std::size_t view, int tile_size, const PieceShape& shape) {
    const Grid tiles = plan.layout.tiles;
    for (std::size_t row = 0; row < tiles.height; ++row) {
        for (std::size_t column = 0; column < tiles.width; ++column) {
            std::string words = row > 0 && column == 0 ? "\n" : "";
            words += kAround;
            words += "<row_" + std::to_string(row + 1) + "_col_" + std::to_string(column + 1) + ">";
            add_piece(plan, std::move(words),
                      {.view = view,
                       .left = static_cast<int>(column) * tile_size,
                       .top = static_cast<int>(row) * tile_size,
                       .size = {tile_size, tile_size},
                       .shape = shape});
        }
    }
}

int longest_side(const SmolVlmRule& rule) {
    return rule.longest_side != 0 ? rule.longest_side : kUsualTilesPerSide * rule.tile_size;
}

// The rule with the longest side of most tiles that is within the options' limit.
SmolVlmRule limited(PixelSize picture, SmolVlmRule rule, const PlanOptions& options) {
    const auto most = options.detail.max_tiles;
    if (most == 0 || smolvlm_max_tiles(rule) <= most) return rule;
    rule.longest_side = longest_side(rule);
    for (int side = (rule.longest_side - 1) / rule.tile_size; side > 0; --side) {
        const PixelSize tiled = smolvlm_sizes(picture, rule, options.compat).tiled;
        const std::size_t n_tiles = static_cast<std::size_t>(tiled.width / rule.tile_size) *
                                    static_cast<std::size_t>(tiled.height / rule.tile_size);
        if (n_tiles <= most) break;
        rule.longest_side = side * rule.tile_size;
    }
    return rule;
}

// The views of a picture, the tiles first; nothing of their pieces. The last view is the overview.
Status add_views(VisionPlan& plan, const SmolVlmRule& rule, Compat compat) {
    const PixelSize picture = plan.layout.picture;
    const PixelSize tile = {rule.tile_size, rule.tile_size};
    if (compat == Compat::LlamaCpp && rule.longest_side == 0) {
        const PixelSize tiled = {nearest_multiple(picture.width, rule.tile_size),
                                 nearest_multiple(picture.height, rule.tile_size)};
        plan.views.push_back({.fit = image::padded_fit(picture, tiled, plan.layout.pad_colour,
                                                       image::Filter::Bicubic, compat)});
        plan.views.push_back({.fit = image::stretch_fit(tile, image::Filter::Bicubic)});
        return ok_status();
    }
    const SmolVlmSizes sizes = smolvlm_sizes(picture, rule, compat);
    if (sizes.scaled.width == 0 || sizes.scaled.height == 0) {
        return {Code::InvalidArgument, "llama.cpp takes no picture of " + size_text(picture) +
                                           " pixels here: scaled to a longest side of " +
                                           std::to_string(rule.longest_side) +
                                           " the other has no pixel left"};
    }
    plan.views.push_back({.fit = image::stretch_fit(sizes.scaled, image::Filter::Lanczos)});
    plan.views.push_back({.from = 0, .fit = image::stretch_fit(sizes.tiled, image::Filter::Lanczos)});
    plan.views.push_back({.from = 1, .fit = image::stretch_fit(tile, image::Filter::Lanczos)});
    return ok_status();
}

}  // namespace

SmolVlmSizes smolvlm_sizes(PixelSize picture, const SmolVlmRule& rule, Compat compat) {
    const int longest = longest_side(rule);
    const bool is_wide = picture.width >= picture.height;
    const double aspect = static_cast<double>(picture.width) / picture.height;
    const bool is_original = compat == Compat::Original;
    PixelSize scaled = {longest, longest};
    int& shorter = is_wide ? scaled.height : scaled.width;
    shorter = made_even(static_cast<int>(is_wide ? longest / aspect : longest * aspect));
    if (is_original) shorter = std::max(shorter, 1);
    PixelSize tiled = {up_to_multiple(scaled.width, rule.tile_size),
                       up_to_multiple(scaled.height, rule.tile_size)};
    if (is_original) {
        // The longer side is rounded first, and the other follows it before it is rounded too.
        const double ratio = static_cast<double>(scaled.width) / scaled.height;
        int& other = is_wide ? tiled.height : tiled.width;
        const int exact = static_cast<int>(is_wide ? tiled.width / ratio : tiled.height * ratio);
        other = std::max(up_to_multiple(exact, rule.tile_size), rule.tile_size);
    }
    return {scaled, tiled};
}

std::size_t smolvlm_max_tiles(const SmolVlmRule& rule) {
    const PixelSize tiled = smolvlm_sizes({1, 1}, rule, Compat::Original).tiled;
    const auto side = static_cast<std::size_t>(tiled.width / rule.tile_size);
    return side * side;
}

Result<VisionPlan> smolvlm_plan(PixelSize picture, const SmolVlmRule& file_rule, const PieceShape& shape,
                                const PlanOptions& options) {
    const Compat compat = options.compat;
    const SmolVlmRule rule = limited(picture, file_rule, options);
    VisionPlan plan;
    plan.layout.picture = picture;
    CLASP_RETURN_IF_ERROR(add_views(plan, rule, compat));
    const std::size_t overview = plan.views.size() - 1;
    const std::size_t tiles = overview - 1;
    const image::Fit& fit = plan.views[tiles].fit;
    plan.layout.resized = fit.resized;
    const Grid grid = {static_cast<std::size_t>(fit.size().height / rule.tile_size),
                       static_cast<std::size_t>(fit.size().width / rule.tile_size)};
    const std::size_t n_tiles = grid.height * grid.width;
    const bool has_tiles = compat == Compat::LlamaCpp || n_tiles > 1;
    const std::size_t n_tokens = ((has_tiles ? n_tiles : 0) + 1) * shape.n_tokens();
    if (n_tokens > kMaxVisionTokens) {
        return Status(Code::Unsupported, "a picture of " + size_text(picture) + " pixels becomes " +
                                             std::to_string(n_tokens) + " tokens; the limit is " +
                                             std::to_string(kMaxVisionTokens));
    }
    if (has_tiles) {
        plan.layout.tiles = grid;
        add_tiles(plan, tiles, rule.tile_size, shape);
    }
    plan.layout.grid = {plan.layout.tiles.height * shape.tokens().height,
                        plan.layout.tiles.width * shape.tokens().width};
    add_piece(plan, std::string(has_tiles ? "\n\n" : "") + kAround + "<global-img>",
              {.view = overview, .size = {rule.tile_size, rule.tile_size}, .shape = shape});
    add_words(plan, kAround);
    plan.layout.n_pieces = plan.pieces.size();
    return plan;
}

}  // namespace clasp::model
