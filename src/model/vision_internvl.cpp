#include "model/vision_internvl.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/gguf_metadata.h"
#include "model/projector_mlp.h"
#include "model/tile_grid.h"
#include "model/vision_clip_file.h"
#include "model/vit.h"

namespace clasp::model {

namespace {

constexpr const char* kScaleFactor = "clip.vision.projector.scale_factor";
constexpr const char* kMinTilesKey = "clip.vision.preproc_min_tiles";
constexpr const char* kMaxTilesKey = "clip.vision.preproc_max_tiles";
constexpr const char* kProjectorNorm = "mm.model.mlp.0";
constexpr float kProjectorEpsilon = 1e-5F;  // no key says it

constexpr std::int64_t kMaxTiles = 1024;
constexpr std::size_t kMaxTilePixels = 50'000'000;  // of a picture that is stretched over its tiles

// The authors' system texts, in UTF-8: that of InternVL 2, and that of 2.5 and 3.
constexpr const char* kSystem2 =
    "\u4f60\u662f\u7531\u4e0a\u6d77\u4eba\u5de5\u667a\u80fd\u5b9e\u9a8c\u5ba4\u8054\u5408\u5546\u6c64"
    "\u79d1\u6280\u5f00\u53d1\u7684\u4e66\u751f\u591a\u6a21\u6001\u5927\u6a21\u578b\uff0c\u82f1\u6587"
    "\u540d\u53ebInternVL, \u662f\u4e00\u4e2a\u6709\u7528\u65e0\u5bb3\u7684\u4eba\u5de5\u667a\u80fd"
    "\u52a9\u624b\u3002";
constexpr const char* kSystem3 =
    "\u4f60\u662f\u4e66\u751f\u00b7\u4e07\u8c61\uff0c\u82f1\u6587\u540d\u662fInternVL\uff0c\u662f"
    "\u7531\u4e0a\u6d77\u4eba\u5de5\u667a\u80fd\u5b9e\u9a8c\u5ba4\u3001\u6e05\u534e\u5927\u5b66\u53ca"
    "\u591a\u5bb6\u5408\u4f5c\u5355\u4f4d\u8054\u5408\u5f00\u53d1\u7684\u591a\u6a21\u6001\u5927\u8bed"
    "\u8a00\u6a21\u578b\u3002";

// By these two numbers llama.cpp knows InternViT-6B, whose norms are RMSNorm.
constexpr std::size_t kLargeWidth = 3200;
constexpr std::size_t kLargeBlocks = 45;

class InternvlTower final : public VisionTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader);

    [[nodiscard]] const VisionInfo& info() const override { return info_; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    [[nodiscard]] Result<VisionPlan> plan_clip(const ClipFrames& clip,
                                               const PlanOptions& options) const override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override {
        return vit_.build_encoder(context, graph, piece, request);
    }
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& shape,
                                   Compat compat) const override;
    [[nodiscard]] std::size_t max_nodes() const override { return vit_.max_nodes(); }

   private:
    [[nodiscard]] Result<TileRange> tiles_for(const PictureDetail& detail) const;

    VisionInfo info_;
    Vit vit_;
    MlpProjector projector_;
    TileRange tiles_;
    std::vector<WeightSpec> specs_;
    ggml_tensor* norm_ = nullptr;
    ggml_tensor* norm_bias_ = nullptr;
};

// Whether pictures of so many tiles, and their thumbnail, are within what any picture may have.
Status check_tile_count(std::size_t n_tiles, const VisionInfo& info, Code code) {
    const std::size_t n_tokens = (n_tiles + 1) * info.n_tokens();
    const std::size_t n_pixels = n_tiles * info.image_size * info.image_size;
    if (n_tokens <= kMaxVisionTokens && n_pixels <= kMaxTilePixels) return ok_status();
    return {code, std::to_string(n_tiles) + " tiles of " + std::to_string(info.image_size) + " x " +
                      std::to_string(info.image_size) + " pixels and a thumbnail make " +
                      std::to_string(n_tokens) + " tokens of " + std::to_string(n_pixels) +
                      " pixels; the limits are " + std::to_string(kMaxVisionTokens) + " and " +
                      std::to_string(kMaxTilePixels)};
}

Result<TileRange> read_tile_range(const GgufReader& reader, const VisionInfo& info) {
    const auto count = [&](const char* key, std::size_t fallback) {
        return value_or(read_integer(reader, key, 1, kMaxTiles), static_cast<std::int64_t>(fallback));
    };
    CLASP_ASSIGN_OR_RETURN(const std::int64_t min, count(kMinTilesKey, TileRange{}.min));
    CLASP_ASSIGN_OR_RETURN(const std::int64_t max, count(kMaxTilesKey, TileRange{}.max));
    if (min > max) {
        return Status(Code::Corrupt, std::string(kMinTilesKey) + " is " + std::to_string(min) + ", above " +
                                         kMaxTilesKey + ", which is " + std::to_string(max));
    }
    const TileRange range = {static_cast<std::size_t>(min), static_cast<std::size_t>(max)};
    CLASP_RETURN_IF_ERROR(check_tile_count(range.max, info, Code::Corrupt));
    return range;
}

// Whether the file's names speak of InternVL 2, and not of 2.5. Nothing else in it tells the two apart.
bool is_version_2(const GgufReader& reader) {
    for (const char* key : {"general.name", "general.basename", "general.base_model.0.name"}) {
        const auto name = read_string(reader, key);
        if (!name.ok()) continue;
        const std::string text = base::lower(*name);
        const std::size_t at = text.find("internvl2");
        if (at == std::string::npos) continue;
        const std::string_view rest =
            std::string_view(text).substr(at + std::string_view("internvl2").size());
        return !(rest.starts_with("_5") || rest.starts_with(".5") || rest.starts_with("-5") ||
                 rest.starts_with(" 5"));
    }
    return false;
}

// Sets what the keys say of InternVL beyond any vision transformer.
Status read_internvl_keys(const GgufReader& reader, VisionInfo& info) {
    info.family = "internvit";
    info.projector_type = "internvl";
    info.feature_layer = info.n_blocks - 1;
    info.llama_cpp_feature_layer = info.feature_layer;
    info.differences = {
        "tiles are the authors' choice, often more than llama.cpp's; --max-tiles lowers their number",
        "tiles are stretched over the picture, where llama.cpp leaves black bars",
        "the class token comes first, so that positions are those of training",
        "GELU is the exact one in blocks and projector"};
    info.exactness = kExactAsLlamaCpp;
    const bool is_2 = is_version_2(reader);
    info.words.system = is_2 ? kSystem2 : kSystem3;
    info.words.joins_turns = is_2;
    info.sampling.repeats = true;
    const std::size_t side = info.grid.width;
    CLASP_ASSIGN_OR_RETURN(const std::int64_t merge,
                           read_integer(reader, kScaleFactor, 1, static_cast<std::int64_t>(side)));
    info.capabilities = {
        .has_class_token = true, .merge = static_cast<std::size_t>(merge), .merges_inside = false};
    if (side % info.capabilities.merge != 0) {
        return {Code::Corrupt, std::string(kScaleFactor) + " is " + std::to_string(merge) +
                                   ", which does not divide the " + std::to_string(side) + " x " +
                                   std::to_string(side) + " patches of a tile"};
    }
    info.grid = {.height = side / info.capabilities.merge, .width = side / info.capabilities.merge};
    return ok_status();
}

Result<VitTraits::QkNorm> read_qk_norm(const GgufReader& reader, const VisionInfo& info) {
    const GgufTensor* norm = reader.find_tensor("v.blk.0.attn_q_norm.weight");
    if (norm == nullptr) return VitTraits::QkNorm::None;
    const auto width = static_cast<std::int64_t>(info.width);
    const std::int64_t head_width = width / static_cast<std::int64_t>(info.n_heads);
    if (norm->shape[0] == width) return VitTraits::QkNorm::Width;
    if (norm->shape[0] == head_width) return VitTraits::QkNorm::Head;
    return Status(Code::Corrupt, "tensor v.blk.0.attn_q_norm.weight has " + std::to_string(norm->shape[0]) +
                                     " factors; a row has " + std::to_string(width) + ", a head " +
                                     std::to_string(head_width));
}

// A tensor of the tower or the projector that no graph reads would change what the model computes, in
// silence: that is an error. Any other is none of this model's, and llama.cpp passes it over: a sentence says
// so.
Result<std::string> note_unread(const GgufReader& reader, const std::vector<WeightSpec>& specs) {
    std::set<std::string_view> known;
    for (const WeightSpec& spec : specs) known.insert(spec.parts.begin(), spec.parts.end());
    std::size_t n_unread = 0;
    std::string first;
    for (const GgufTensor& tensor : reader.tensors()) {
        if (known.contains(tensor.name)) continue;
        const std::string name = base::printable(tensor.name);
        if (tensor.name.starts_with("v.") || tensor.name.starts_with("mm.")) {
            return Status(Code::Unsupported,
                          "tensor " + name + " is none that InternVL's tower is known to have");
        }
        if (n_unread++ == 0) first = name;
    }
    if (n_unread == 0) return std::string();
    const std::string others = n_unread > 1 ? " and " + std::to_string(n_unread - 1) + " more" : "";
    return "tensors of the vision file that InternVL does not have are left out: " + first + others;
}

Result<std::unique_ptr<VisionTower>> InternvlTower::open(const GgufReader& reader) {
    auto tower = std::make_unique<InternvlTower>();
    CLASP_ASSIGN_OR_RETURN(tower->info_, read_vit_info(reader));
    VisionInfo& info = tower->info_;
    CLASP_RETURN_IF_ERROR(read_internvl_keys(reader, info));
    CLASP_ASSIGN_OR_RETURN(tower->tiles_, read_tile_range(reader, info));
    info.min_tiles = tower->tiles_.min;
    info.max_tiles = tower->tiles_.max;
    info.tile_words = "and a thumbnail, in the shape nearest to the picture's";
    CLASP_ASSIGN_OR_RETURN(const VitTraits::QkNorm qk_norm, read_qk_norm(reader, info));
    const bool is_large = info.width == kLargeWidth && info.n_blocks == kLargeBlocks;
    tower->vit_ = Vit(reader, info,
                      {.has_patch_bias = true,
                       .has_norm_bias = reader.find_tensor("v.blk.0.ln1.bias") != nullptr,
                       .has_qkv_bias = reader.find_tensor("v.blk.0.attn_q.bias") != nullptr,
                       .has_layer_scale = true,
                       .qk_norm = qk_norm,
                       .llama_cpp_has_rms_norm = is_large},
                      tower->specs_);
    const std::size_t merged = info.width * info.capabilities.merge * info.capabilities.merge;
    CLASP_ASSIGN_OR_RETURN(tower->projector_, MlpProjector::open(reader, merged, kInternvlProjector));
    info.projector_width = tower->projector_.hidden_width();
    info.output_width = tower->projector_.output_width();
    for (const char* part : {".weight", ".bias"}) {
        const std::string name = std::string(kProjectorNorm) + part;
        const auto width = static_cast<std::int64_t>(merged);
        tower->specs_.push_back({.name = name, .parts = {name}, .part_shape = {width}, .width = width});
    }
    tower->projector_.add_specs(tower->specs_);
    for (const WeightSpec& spec : tower->specs_) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    CLASP_ASSIGN_OR_RETURN(info.note, note_unread(reader, tower->specs_));
    count_weights(reader, tower->specs_, info);
    return std::unique_ptr<VisionTower>(std::move(tower));
}

void InternvlTower::bind(const WeightStore& store) {
    vit_.bind(store);
    projector_.bind(store);
    norm_ = store.get(std::string(kProjectorNorm) + ".weight");
    norm_bias_ = store.get(std::string(kProjectorNorm) + ".bias");
}

// The file's range, with another end if one was asked for.
Result<TileRange> InternvlTower::tiles_for(const PictureDetail& detail) const {
    if (detail.max_tiles == 0) return tiles_;
    if (detail.max_tiles < tiles_.min) {
        return Status(Code::InvalidArgument, "the vision tower cuts pictures into at least " +
                                                 std::to_string(tiles_.min) + " tiles; at most " +
                                                 std::to_string(detail.max_tiles) + " cannot be");
    }
    CLASP_RETURN_IF_ERROR(check_tile_count(detail.max_tiles, info_, Code::InvalidArgument));
    return TileRange{tiles_.min, detail.max_tiles};
}

Result<VisionPlan> InternvlTower::plan(PixelSize picture, const PlanOptions& options) const {
    const PieceShape shape = {.patches = vit_.patches(), .n_prefix = 1, .merge = info_.capabilities.merge};
    CLASP_ASSIGN_OR_RETURN(const TileRange range, tiles_for(options.detail));
    CLASP_ASSIGN_OR_RETURN(VisionPlan plan, tile_grid_plan(picture, range, static_cast<int>(info_.image_size),
                                                           shape, options.compat));
    plan.arrangement.insert(plan.arrangement.begin(), {.kind = ArrangedRun::Kind::Text, .text = "<img>"});
    plan.arrangement.push_back({.kind = ArrangedRun::Kind::Text, .text = "</img>"});
    return plan;
}

// One tile each, unless more are asked for, and a label before each.
Result<VisionPlan> InternvlTower::plan_clip(const ClipFrames& clip, const PlanOptions& options) const {
    PlanOptions of_frame = options;
    if (of_frame.detail.max_tiles == 0) of_frame.detail.max_tiles = std::max<std::size_t>(tiles_.min, 1);
    CLASP_ASSIGN_OR_RETURN(const VisionPlan frame, plan(clip.size, of_frame));
    return frames_plan(clip, frame, [](std::size_t i) {
        return (i == 0 ? "" : "\n") + ("Frame-" + std::to_string(i + 1)) + ": ";
    });
}

// A token is its patches' channels, left to right, then down.
ggml_tensor* join_patches(ggml_context* context, ggml_tensor* patches, const PieceShape& shape) {
    const auto merge = static_cast<std::int64_t>(shape.merge);
    const auto columns = static_cast<std::int64_t>(shape.tokens().width);
    const auto rows = static_cast<std::int64_t>(shape.tokens().height);
    const std::int64_t width = patches->ne[0];
    ggml_tensor* x = ggml_reshape_4d(context, patches, width * merge, columns, merge, rows);
    x = ggml_cont(context, ggml_permute(context, x, 0, 2, 1, 3));
    return ggml_reshape_2d(context, x, width * merge * merge, columns * rows);
}

ProjectorGraph InternvlTower::build_projector(ggml_context* context, ggml_tensor* fused,
                                              const PieceShape& shape, Compat compat) const {
    ggml_tensor* tokens = join_patches(context, fused, shape);
    tokens = ggml_mul(context, ggml_norm(context, tokens, kProjectorEpsilon), norm_);
    tokens = ggml_add(context, tokens, norm_bias_);
    return {.inputs = {}, .tokens = projector_.build(context, tokens, compat)};
}

}  // namespace

Result<std::unique_ptr<VisionTower>> open_internvl_tower(const GgufReader& reader) {
    return InternvlTower::open(reader);
}

}  // namespace clasp::model
