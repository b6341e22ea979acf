#include "model/tile_rule_file.h"

#include <array>
#include <vector>

#include "base/text.h"
#include "model/gguf_metadata.h"

namespace clasp::model {

namespace {

constexpr const char* kResolutions = "clip.vision.image_grid_pinpoints";
constexpr const char* kMerge = "clip.vision.mm_patch_merge_type";
constexpr const char* kAspect = "clip.vision.image_aspect_ratio";
constexpr std::size_t kMaxResolutions = 128;
constexpr std::int64_t kMaxSide = 1 << 16;

// Without the key it is as in the authors' code, where only spatial_unpad has a newline vector and flat is
// the default.
Result<TileMerge> read_merge(const GgufReader& reader) {
    const bool has_newline = !newline_tensor(reader).empty();
    Result<std::string_view> name = read_string(reader, kMerge);
    if (!name.ok() && name.status().code() == Code::NotFound) {
        return has_newline ? TileMerge::SpatialUnpad : TileMerge::Flat;
    }
    if (!name.ok()) return name.status();
    const Result<TileMerge> merge = parse_tile_merge(*name);
    if (!merge.ok())
        return Status(merge.status().code(), std::string(kMerge) + " is " + merge.status().message());
    // A file that lacks the vector is read without line breaks and, as they go together, with padding.
    return *merge == TileMerge::SpatialUnpad && !has_newline ? TileMerge::Spatial : *merge;
}

Result<PixelSize> check_resolution(std::int64_t width, std::int64_t height, std::size_t tile_size,
                                   std::size_t patches_per_side, std::size_t max_tokens) {
    const auto tile = static_cast<std::int64_t>(tile_size);
    const std::string name = std::to_string(width) + " x " + std::to_string(height);
    if (width % tile != 0 || height % tile != 0) {
        return Status(Code::Corrupt, std::string(kResolutions) + " has " + name +
                                         " pixels, which is not a number of tiles of " +
                                         std::to_string(tile));
    }
    // The overview, the tiles, and a newline for each row.
    const auto n_tiles = static_cast<std::size_t>((width / tile) * (height / tile));
    const std::size_t n_rows = static_cast<std::size_t>(height / tile) * patches_per_side;
    const std::size_t n_tokens = (1 + n_tiles) * patches_per_side * patches_per_side + n_rows;
    if (n_tokens > max_tokens) {
        return Status(Code::Corrupt, std::string(kResolutions) + " has " + name + " pixels, which make " +
                                         std::to_string(n_tokens) + " tokens; the limit is " +
                                         std::to_string(max_tokens));
    }
    return PixelSize{static_cast<int>(width), static_cast<int>(height)};
}

}  // namespace

std::string newline_tensor(const GgufReader& reader) {
    for (const char* name : {"model.image_newline", "v.image_newline"}) {
        if (reader.find_tensor(name) != nullptr) return name;
    }
    return "";
}

std::string missing_newline_note(const GgufReader& reader) {
    const auto merge = read_string(reader, kMerge);
    if (!merge.ok() || *merge != tile_merge_name(TileMerge::SpatialUnpad) ||
        !newline_tensor(reader).empty()) {
        return "";
    }
    return "the vision file asks for line breaks between rows of tiles (spatial_unpad) but has no tensor "
           "model.image_newline, so its tiles are arranged by spatial, with padding and without line breaks";
}

Result<std::optional<TileRule>> read_tile_rule(const GgufReader& reader, std::size_t tile_size,
                                               std::size_t patches_per_side, std::size_t max_tokens) {
    if (reader.find(kResolutions) == nullptr) return std::optional<TileRule>();
    CLASP_ASSIGN_OR_RETURN(const auto sides,
                           read_integers(reader, kResolutions, 2 * kMaxResolutions, 1, kMaxSide));
    if (sides.empty()) return std::optional<TileRule>();
    if (sides.size() % 2 != 0) {
        return Status(Code::Corrupt, std::string(kResolutions) + " lists " + std::to_string(sides.size()) +
                                         " numbers; it must be pairs of width and height");
    }
    CLASP_ASSIGN_OR_RETURN(const std::string_view aspect,
                           value_or(read_string(reader, kAspect), std::string_view("anyres")));
    if (aspect != "anyres") {
        return Status(Code::Unsupported, std::string(kAspect) + " is " + base::in_quotes(aspect) +
                                             " in a file that lists resolutions; supported is: anyres");
    }
    TileRule rule;
    rule.tile_size = static_cast<int>(tile_size);
    rule.patches_per_side = patches_per_side;
    CLASP_ASSIGN_OR_RETURN(rule.merge, read_merge(reader));
    rule.has_newline = !newline_tensor(reader).empty();
    for (std::size_t i = 0; i < sides.size(); i += 2) {
        CLASP_ASSIGN_OR_RETURN(const PixelSize size, check_resolution(sides[i], sides[i + 1], tile_size,
                                                                      patches_per_side, max_tokens));
        rule.resolutions.push_back(size);
    }
    return std::optional(std::move(rule));
}

}  // namespace clasp::model
