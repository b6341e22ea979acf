#include "model/vision_clip.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ggml-backend.h"
#include "model/attention_graph.h"
#include "model/linear.h"
#include "model/projector_mlp.h"
#include "model/tile_rule_file.h"
#include "model/tiled_plan.h"
#include "model/vision_clip_file.h"

namespace clasp::model {

namespace {

float attention_scale(const VisionInfo& info) {
    const std::size_t head_width = info.width / info.n_heads;
    return 1.0F / std::sqrt(static_cast<float>(head_width));
}

constexpr std::int64_t kRowMultiple = 32;  // patch rows are padded to it: kernels want whole vectors

std::int64_t as_signed(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

struct Block {
    ggml_tensor* norm1 = nullptr;
    ggml_tensor* norm1_bias = nullptr;
    Linear qkv;  // query, key and value stacked: width -> 3 * width
    Linear out;
    ggml_tensor* norm2 = nullptr;
    ggml_tensor* norm2_bias = nullptr;
    Linear first;
    Linear second;
};

// Query, key and value of all rows, as [head width, rows, heads] views of one product.
struct Attention {
    ggml_tensor* query = nullptr;
    ggml_tensor* key = nullptr;
    ggml_tensor* value = nullptr;
    ggml_tensor* key_rows = nullptr;  // [width, rows]
    ggml_tensor* all = nullptr;       // [3 * width, rows]
};

class ClipTower final : public VisionTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader);

    [[nodiscard]] const VisionInfo& info() const override { return info_; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override;
    StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                               const EncoderStretch& stretch) const override;
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& /*shape*/,
                                   Compat compat) const override {
        return {.inputs = {}, .tokens = projector_.build(context, fused, compat)};
    }
    [[nodiscard]] std::vector<float> fixed_row(std::size_t /*number*/) const override { return newline_; }
    [[nodiscard]] std::size_t max_nodes() const override { return 64 + 56 * info_.n_blocks; }

   private:
    void add_values(const std::string& name, std::size_t width, std::size_t rows = 0);
    void add_matrix(const std::string& name, std::vector<std::string> parts, std::size_t width,
                    std::size_t rows);
    void add_block_specs(const GgufReader& reader, std::size_t index);
    [[nodiscard]] std::int64_t patch_values() const {
        return as_signed(3 * info_.patch_size * info_.patch_size);
    }
    [[nodiscard]] std::int64_t padded_patch_values() const {
        return (patch_values() + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
    }
    [[nodiscard]] std::int64_t row_values(Compat compat) const {
        return compat == Compat::Original ? padded_patch_values() : patch_values();
    }
    [[nodiscard]] std::vector<float> patch_rows(const PiecePixels& piece, Compat compat) const;
    ggml_tensor* norm(ggml_context* context, ggml_tensor* x, ggml_tensor* scale, ggml_tensor* shift) const;
    // The rows that enter the first block; adds what has to be filled to the inputs.
    ggml_tensor* embed(ggml_context* context, const PiecePixels& piece, Compat compat,
                       std::vector<GraphInput>& inputs) const;
    // llama.cpp takes the tanh form of GELU.
    [[nodiscard]] LinearActivation activation(Compat compat) const {
        if (info_.activation == Activation::QuickGelu) return LinearActivation::QuickGelu;
        if (info_.activation == Activation::Silu) return LinearActivation::Silu;
        return compat == Compat::Original ? LinearActivation::Gelu : LinearActivation::TanhGelu;
    }
    [[nodiscard]] Attention attention(ggml_context* context, const Block& block, ggml_tensor* x) const;
    // x after the attention part, then after the feed-forward part. bias: as StretchGraph, or null.
    ggml_tensor* attend(ggml_context* context, const Block& block, const Attention& parts, ggml_tensor* x,
                        ggml_tensor* bias, Compat compat) const;
    ggml_tensor* flash_attention(ggml_context* context, const Attention& parts, ggml_tensor* bias,
                                 Compat compat) const;
    ggml_tensor* feed_forward(ggml_context* context, const Block& block, ggml_tensor* x, Compat compat) const;
    // Blocks first ... n_begun - 1, of which those from n_whole on stop at what the request reads.
    ggml_tensor* run_blocks(ggml_context* context, ggml_cgraph* graph, ggml_tensor* x, std::size_t first,
                            std::size_t n_whole, std::size_t n_begun, ggml_tensor* bias,
                            const EncodeRequest& request, EncoderGraph& result) const;
    ggml_tensor* class_attention(ggml_context* context, const Attention& parts, Compat compat) const;

    VisionInfo info_;
    FullAttention attention_;
    MlpProjector projector_;
    std::vector<WeightSpec> specs_;
    bool has_patch_bias_ = false;
    bool llama_cpp_patches_are_half_ = true;

    Linear patch_kernel_;  // rows padded with zeros
    Linear llama_cpp_patch_kernel_;
    ggml_tensor* class_token_ = nullptr;
    ggml_tensor* positions_ = nullptr;
    ggml_tensor* pre_norm_ = nullptr;
    ggml_tensor* pre_norm_bias_ = nullptr;
    std::vector<Block> blocks_;
    std::string newline_name_;    // empty: no line breaks
    std::vector<float> newline_;  // of the decoder's width
};

void ClipTower::add_values(const std::string& name, std::size_t width, std::size_t rows) {
    WeightSpec spec{
        .name = name, .parts = {name}, .part_shape = {as_signed(width)}, .width = as_signed(width)};
    if (rows != 0) spec.part_shape.push_back(as_signed(rows));
    specs_.push_back(std::move(spec));
}

void ClipTower::add_matrix(const std::string& name, std::vector<std::string> parts, std::size_t width,
                           std::size_t rows) {
    specs_.push_back({.name = name,
                      .parts = std::move(parts),
                      .part_shape = {as_signed(width), as_signed(rows)},
                      .use = WeightSpec::Use::Matrix,
                      .width = as_signed(width)});
}

void ClipTower::add_block_specs(const GgufReader& reader, std::size_t index) {
    const std::string prefix = "v.blk." + std::to_string(index) + ".";
    const std::size_t width = info_.width;
    for (const char* name : {"ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias", "attn_out.bias"}) {
        add_values(prefix + name, width);
    }
    add_matrix(prefix + "qkv.weight",
               {prefix + "attn_q.weight", prefix + "attn_k.weight", prefix + "attn_v.weight"}, width, width);
    specs_.push_back({.name = prefix + "qkv.bias",
                      .parts = {prefix + "attn_q.bias", prefix + "attn_k.bias", prefix + "attn_v.bias"},
                      .part_shape = {as_signed(width)},
                      .width = as_signed(width)});
    add_matrix(prefix + "attn_out.weight", {prefix + "attn_out.weight"}, width, width);
    const FfnNames ffn = ffn_names(reader, prefix, width);
    add_matrix(prefix + "fc1.weight", {ffn.first + ".weight"}, width, info_.ffn_width);
    add_matrix(prefix + "fc2.weight", {ffn.second + ".weight"}, info_.ffn_width, width);
    specs_.push_back({.name = prefix + "fc1.bias",
                      .parts = {ffn.first + ".bias"},
                      .part_shape = {as_signed(info_.ffn_width)},
                      .width = as_signed(info_.ffn_width)});
    specs_.push_back({.name = prefix + "fc2.bias",
                      .parts = {ffn.second + ".bias"},
                      .part_shape = {as_signed(width)},
                      .width = as_signed(width)});
}

Result<std::unique_ptr<VisionTower>> ClipTower::open(const GgufReader& reader) {
    auto tower = std::make_unique<ClipTower>();
    CLASP_ASSIGN_OR_RETURN(tower->info_, read_clip_info(reader));
    VisionInfo& info = tower->info_;
    tower->attention_ = {
        .n_heads = info.n_heads, .head_width = info.width / info.n_heads, .scale = attention_scale(info)};
    CLASP_ASSIGN_OR_RETURN(tower->projector_, MlpProjector::open(reader, info.width));
    info.projector_width = tower->projector_.hidden_width();
    info.output_width = tower->projector_.output_width();

    const auto patch = as_signed(info.patch_size);
    const GgufTensor* kernel = reader.find_tensor("v.patch_embd.weight");
    tower->specs_.push_back({.name = "v.patch_embd.weight",
                             .parts = {"v.patch_embd.weight"},
                             .part_shape = {patch, patch, 3, as_signed(info.width)},
                             .use = WeightSpec::Use::Matrix,
                             .width = tower->patch_values(),
                             .padded_width = tower->padded_patch_values()});
    // llama.cpp multiplies patches with the kernel in half precision (single if the file has BF16), in rows
    // of exactly this width: the same numbers need the same operands.
    const bool is_bf16 = kernel != nullptr && kernel->type == GGML_TYPE_BF16;
    tower->llama_cpp_patches_are_half_ = !is_bf16;
    tower->specs_.push_back(tower->specs_.back());
    tower->specs_.back().name = "v.patch_embd.llama_cpp";
    tower->specs_.back().padded_width = 0;
    tower->specs_.back().type = is_bf16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    tower->has_patch_bias_ = reader.find_tensor("v.patch_embd.bias") != nullptr;
    if (tower->has_patch_bias_) tower->add_values("v.patch_embd.bias", info.width);
    tower->add_values("v.class_embd", info.width);
    tower->add_values("v.position_embd.weight", info.width, info.n_tokens() + 1);
    tower->add_values("v.pre_ln.weight", info.width);
    tower->add_values("v.pre_ln.bias", info.width);
    for (std::size_t i = 0; i < info.n_blocks; ++i) tower->add_block_specs(reader, i);
    tower->projector_.add_specs(tower->specs_);
    if (info.tiles && info.tiles->merge == TileMerge::SpatialUnpad) {
        tower->newline_name_ = newline_tensor(reader);
        tower->add_values(tower->newline_name_, info.output_width);
    }

    for (const WeightSpec& spec : tower->specs_) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
    info.has_post_norm = reader.find_tensor("v.post_ln.weight") != nullptr;
    info.weight_type = common_type(reader, tower->specs_);
    for (const WeightSpec& spec : tower->specs_) {
        if (spec.type) continue;  // a second copy
        for (const std::string& part : spec.parts) {
            std::size_t count = 1;
            for (const std::int64_t n : reader.find_tensor(part)->shape) count *= static_cast<std::size_t>(n);
            info.n_parameters += count;
        }
    }
    return std::unique_ptr<VisionTower>(std::move(tower));
}

void ClipTower::bind(const WeightStore& store) {
    patch_kernel_ = store.linear("v.patch_embd.weight");
    llama_cpp_patch_kernel_ = store.linear("v.patch_embd.llama_cpp");
    if (has_patch_bias_) {
        patch_kernel_.bias = store.get("v.patch_embd.bias");
        llama_cpp_patch_kernel_.bias = patch_kernel_.bias;
    }
    class_token_ = store.get("v.class_embd");
    positions_ = store.get("v.position_embd.weight");
    pre_norm_ = store.get("v.pre_ln.weight");
    pre_norm_bias_ = store.get("v.pre_ln.bias");
    blocks_.resize(info_.n_blocks);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const std::string prefix = "v.blk." + std::to_string(i) + ".";
        const auto get = [&](const char* name) { return store.get(prefix + name); };
        const auto linear = [&](const std::string& name) {
            return store.linear(prefix + name + ".weight", prefix + name + ".bias");
        };
        blocks_[i] = {.norm1 = get("ln1.weight"),
                      .norm1_bias = get("ln1.bias"),
                      .qkv = linear("qkv"),
                      .out = linear("attn_out"),
                      .norm2 = get("ln2.weight"),
                      .norm2_bias = get("ln2.bias"),
                      .first = linear("fc1"),
                      .second = linear("fc2")};
    }
    projector_.bind(store);
    if (newline_name_.empty()) return;
    newline_.resize(info_.output_width);
    ggml_backend_tensor_get(store.get(newline_name_), newline_.data(), 0, newline_.size() * sizeof(float));
}

// LLaVA-NeXT: tiles and an overview. LLaVA-1.5: the picture on a square of the mean colour.
Result<VisionPlan> ClipTower::plan(PixelSize picture, const PlanOptions& options) const {
    const Compat compat = options.compat;
    const PieceShape shape = {.patches = info_.grid, .n_prefix = 1, .merge = 1};
    if (info_.tiles) return tiled_plan(picture, *info_.tiles, shape, compat);
    const image::Fit fit =
        image::square_fit(picture, static_cast<int>(info_.image_size), image::kClipMeanColour, compat);
    return single_piece_plan(picture, fit, shape);
}

std::vector<float> ClipTower::patch_rows(const PiecePixels& piece, Compat compat) const {
    const auto width = static_cast<std::size_t>(piece.piece.size.width);
    const auto height = static_cast<std::size_t>(piece.piece.size.height);
    const Grid grid = piece.piece.shape.patches;
    const std::size_t patch = info_.patch_size;
    const auto row_width = static_cast<std::size_t>(row_values(compat));
    std::vector<float> rows(grid.height * grid.width * row_width, 0.0F);
    for (std::size_t y = 0; y < grid.height; ++y) {
        for (std::size_t x = 0; x < grid.width; ++x) {
            float* to = rows.data() + (y * grid.width + x) * row_width;
            for (std::size_t channel = 0; channel < 3; ++channel) {
                for (std::size_t line = 0; line < patch; ++line, to += patch) {
                    const float* from =
                        piece.values.data() + (channel * height + y * patch + line) * width + x * patch;
                    std::copy_n(from, patch, to);
                }
            }
        }
    }
    if (compat == Compat::LlamaCpp && llama_cpp_patches_are_half_) {
        for (float& value : rows) value = ggml_fp16_to_fp32(ggml_fp32_to_fp16(value));
    }
    return rows;
}

ggml_tensor* ClipTower::norm(ggml_context* context, ggml_tensor* x, ggml_tensor* scale,
                             ggml_tensor* shift) const {
    x = ggml_norm(context, x, info_.norm_epsilon);
    return ggml_add(context, ggml_mul(context, x, scale), shift);
}

ggml_tensor* ClipTower::embed(ggml_context* context, const PiecePixels& piece, Compat compat,
                              std::vector<GraphInput>& inputs) const {
    ggml_tensor* input = ggml_new_tensor_2d(context, GGML_TYPE_F32, row_values(compat),
                                            as_signed(piece.piece.shape.n_patches()));
    inputs.push_back(graph_input(input, patch_rows(piece, compat)));
    const Linear& kernel = compat == Compat::Original ? patch_kernel_ : llama_cpp_patch_kernel_;
    ggml_tensor* patches = build_linear(context, kernel, input);
    ggml_tensor* rows = compat == Compat::Original ? ggml_concat(context, class_token_, patches, 1)
                                                   : ggml_concat(context, patches, class_token_, 1);
    return norm(context, ggml_add(context, rows, positions_), pre_norm_, pre_norm_bias_);
}

Attention ClipTower::attention(ggml_context* context, const Block& block, ggml_tensor* x) const {
    const std::int64_t width = as_signed(info_.width);
    const std::int64_t heads = as_signed(info_.n_heads);
    const std::int64_t head_width = width / heads;
    ggml_tensor* normed = norm(context, x, block.norm1, block.norm1_bias);
    ggml_tensor* qkv = build_linear(context, block.qkv, normed);
    const auto part = [&](std::size_t index) {
        ggml_tensor* view = ggml_view_3d(context, qkv, head_width, heads, x->ne[1],
                                         static_cast<std::size_t>(head_width) * sizeof(float), qkv->nb[1],
                                         index * info_.width * sizeof(float));
        return ggml_permute(context, view, 0, 2, 1, 3);
    };
    return {.query = part(0),
            .key = part(1),
            .value = part(2),
            .key_rows = ggml_view_2d(context, qkv, width, x->ne[1], qkv->nb[1], info_.width * sizeof(float)),
            .all = qkv};
}

ggml_tensor* ClipTower::attend(ggml_context* context, const Block& block, const Attention& parts,
                               ggml_tensor* x, ggml_tensor* bias, Compat compat) const {
    const bool is_packed = block.qkv.packed != nullptr && compat == Compat::Original;
    const bool has_kernel =
        is_packed && bias == nullptr && attention_.fits(static_cast<std::size_t>(x->ne[1]));
    ggml_tensor* mixed = has_kernel ? build_full_attention(context, attention_, parts.all)
                                    : flash_attention(context, parts, bias, compat);
    return ggml_add(context, build_linear(context, block.out, mixed), x);
}

ggml_tensor* ClipTower::flash_attention(ggml_context* context, const Attention& parts, ggml_tensor* bias,
                                        Compat compat) const {
    ggml_tensor* key = parts.key;
    ggml_tensor* value = parts.value;
    if (compat == Compat::LlamaCpp) {
        key = ggml_cast(context, key, GGML_TYPE_F16);
        value = ggml_cast(context, value, GGML_TYPE_F16);
    }
    ggml_tensor* mixed =
        ggml_flash_attn_ext(context, parts.query, key, value, bias, attention_scale(info_), 0.0F, 0.0F);
    ggml_prec_set_acc(mixed, GGML_PREC_F32);
    return ggml_reshape_2d(context, mixed, as_signed(info_.width), parts.query->ne[1]);
}

ggml_tensor* ClipTower::feed_forward(ggml_context* context, const Block& block, ggml_tensor* x,
                                     Compat compat) const {
    ggml_tensor* normed = norm(context, x, block.norm2, block.norm2_bias);
    ggml_tensor* hidden = build_linear(context, block.first, normed, activation(compat));
    return ggml_add(context, x, build_linear(context, block.second, hidden));
}

ggml_tensor* ClipTower::class_attention(ggml_context* context, const Attention& parts, Compat compat) const {
    const float scale = attention_scale(info_);
    // llama.cpp has it behind the patches.
    const auto class_row =
        compat == Compat::Original ? std::size_t{0} : static_cast<std::size_t>(parts.query->ne[1] - 1);
    ggml_tensor* query = ggml_view_3d(context, parts.query, parts.query->ne[0], 1, parts.query->ne[2],
                                      parts.query->nb[1], parts.query->nb[2], class_row * parts.query->nb[1]);
    return ggml_soft_max_ext(context, ggml_mul_mat(context, parts.key, query), nullptr, scale, 0.0F);
}

bool contains(const std::vector<std::size_t>& values, std::size_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

ggml_tensor* mark_output(ggml_cgraph* graph, ggml_tensor* tensor) {
    ggml_set_output(tensor);
    ggml_build_forward_expand(graph, tensor);
    return tensor;
}

// Where a request stops: blocks that run to their end, and blocks of which at least the attention inputs
// are needed.
struct Depth {
    std::size_t n_whole = 0;
    std::size_t n_begun = 0;
};

Depth depth_of(const EncodeRequest& request) {
    Depth depth;
    for (const std::size_t layer : request.layers) depth.n_whole = std::max(depth.n_whole, layer + 1);
    depth.n_begun = depth.n_whole;
    for (const auto* blocks : {&request.class_attention, &request.keys, &request.class_query}) {
        for (const std::size_t layer : *blocks) depth.n_begun = std::max(depth.n_begun, layer + 1);
    }
    return depth;
}

ggml_tensor* ClipTower::run_blocks(ggml_context* context, ggml_cgraph* graph, ggml_tensor* x,
                                   std::size_t first, std::size_t n_whole, std::size_t n_begun,
                                   ggml_tensor* bias, const EncodeRequest& request,
                                   EncoderGraph& result) const {
    for (std::size_t i = first; i < n_begun; ++i) {
        const Attention parts = attention(context, blocks_[i], x);
        if (contains(request.class_attention, i)) {
            result.class_attention.push_back(
                mark_output(graph, class_attention(context, parts, request.compat)));
        }
        if (contains(request.class_query, i)) {
            const std::size_t row =
                request.compat == Compat::Original ? 0 : static_cast<std::size_t>(x->ne[1] - 1);
            ggml_tensor* query = ggml_view_2d(context, parts.all, as_signed(info_.width), 1, parts.all->nb[1],
                                              row * parts.all->nb[1]);
            result.class_query.push_back(mark_output(graph, ggml_cont(context, query)));
        }
        if (contains(request.keys, i)) {
            result.keys.push_back(mark_output(graph, ggml_cont(context, parts.key_rows)));
        }
        if (i + 1 == n_begun && i >= n_whole) break;
        x = feed_forward(context, blocks_[i], attend(context, blocks_[i], parts, x, bias, request.compat),
                         request.compat);
        if (contains(request.layers, i)) result.layers.push_back(mark_output(graph, x));
    }
    return x;
}

EncoderGraph ClipTower::build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                                      const EncodeRequest& request) const {
    EncoderGraph result;
    const Depth depth = depth_of(request);
    ggml_tensor* rows = embed(context, piece, request.compat, result.inputs);
    run_blocks(context, graph, rows, 0, depth.n_whole, depth.n_begun, nullptr, request, result);
    return result;
}

StretchGraph ClipTower::build_stretch(ggml_context* context, ggml_cgraph* graph,
                                      const EncoderStretch& stretch) const {
    const Compat compat = stretch.request.compat;
    const std::int64_t n = as_signed(stretch.n_rows);
    StretchGraph result;
    ggml_tensor* x = nullptr;
    if (stretch.piece != nullptr) {
        x = embed(context, *stretch.piece, compat, result.parts.inputs);
    } else {
        x = result.entering = ggml_new_tensor_2d(context, GGML_TYPE_F32, as_signed(info_.width), n);
        ggml_set_input(result.entering);
    }
    if (stretch.has_bias) {
        result.bias = ggml_new_tensor_2d(context, GGML_TYPE_F16, n, n);
        ggml_set_input(result.bias);
    }
    if (stretch.finish != kNoBlock) {
        x = feed_forward(context, blocks_[stretch.finish], x, compat);
        if (contains(stretch.request.layers, stretch.finish)) {
            result.parts.layers.push_back(mark_output(graph, x));
        }
    }
    const Depth depth = depth_of(stretch.request);
    x = run_blocks(context, graph, x, stretch.first, stretch.is_last ? depth.n_whole : stretch.last,
                   stretch.is_last ? depth.n_begun : stretch.last, result.bias, stretch.request,
                   result.parts);
    if (stretch.attend != kNoBlock) {
        const Block& block = blocks_[stretch.attend];
        const Attention parts = attention(context, block, x);
        if (stretch.wants_keys) result.keys = mark_output(graph, ggml_cont(context, parts.key_rows));
        if (stretch.wants_logits) {
            // The heads' dot products add up to that of whole rows, so their mean takes one product.
            ggml_tensor* queries =
                ggml_view_2d(context, parts.all, as_signed(info_.width), x->ne[1], parts.all->nb[1], 0);
            const float scale = attention_scale(info_) / static_cast<float>(info_.n_heads);
            result.logits = mark_output(
                graph, ggml_scale(context, ggml_mul_mat(context, parts.key_rows, queries), scale));
        }
        x = attend(context, block, parts, x, result.bias, compat);
    }
    result.rows = mark_output(graph, x);
    return result;
}

}  // namespace

Result<std::unique_ptr<VisionTower>> open_clip_tower(const GgufReader& reader) {
    return ClipTower::open(reader);
}

}  // namespace clasp::model
