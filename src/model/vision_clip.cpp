#include "model/vision_clip.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "model/attention_graph.h"
#include "model/gguf_metadata.h"
#include "model/linear.h"
#include "model/projector_mlp.h"

namespace clasp::model {

namespace {

float attention_scale(const VisionInfo& info) {
    const std::size_t head_width = info.width / info.n_heads;
    return 1.0F / std::sqrt(static_cast<float>(head_width));
}

constexpr std::int64_t kMaxImageSize = 4096;
constexpr std::int64_t kMaxWidth = 1 << 15;
constexpr std::int64_t kMaxBlocks = 512;
constexpr std::int64_t kMaxTokens = 1 << 14;
constexpr std::int64_t kRowMultiple = 32;  // patch rows are padded to it: kernels want whole vectors

std::int64_t as_signed(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

// fc1 and fc2 of a block by their names in the file. Old converters swapped the two; the one that takes
// the tower's width is fc1.
struct FfnNames {
    std::string first;
    std::string second;
};

FfnNames ffn_names(const GgufReader& reader, const std::string& prefix, std::size_t width) {
    const GgufTensor* down = reader.find_tensor(prefix + "ffn_down.weight");
    const bool is_swapped = down != nullptr && down->shape[0] == as_signed(width);
    if (is_swapped) return {prefix + "ffn_down", prefix + "ffn_up"};
    return {prefix + "ffn_up", prefix + "ffn_down"};
}

Result<Activation> read_activation(const GgufReader& reader) {
    CLASP_ASSIGN_OR_RETURN(const bool gelu, value_or(read_flag(reader, "clip.use_gelu"), false));
    CLASP_ASSIGN_OR_RETURN(const bool silu, value_or(read_flag(reader, "clip.use_silu"), false));
    if (gelu && silu) return Status(Code::Corrupt, "clip.use_gelu and clip.use_silu are both set");
    if (gelu) return Activation::Gelu;
    return silu ? Activation::Silu : Activation::QuickGelu;
}

Result<std::array<float, 3>> read_channels(const GgufReader& reader, std::string_view key, float min,
                                           float max) {
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> values, read_floats(reader, key, 3, min, max));
    return std::array<float, 3>{values[0], values[1], values[2]};
}

// Sets both feature layers. The key counts hidden states: 0 is the input of block 0.
Status read_feature_layer(const GgufReader& reader, VisionInfo& info) {
    const std::string key = "clip.vision.feature_layer";
    info.feature_layer = info.n_blocks - 1;
    info.llama_cpp_feature_layer = info.n_blocks >= 2 ? info.n_blocks - 2 : 0;
    if (reader.find(key) == nullptr) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const auto layers, read_integers(reader, key, 64, 0, as_signed(info.n_blocks)));
    if (layers.size() != 1) {
        return {Code::Unsupported,
                key + " lists " + std::to_string(layers.size()) +
                    " layers; towers that feed exactly one to the projector are supported"};
    }
    if (layers[0] == 0) return {Code::Unsupported, key + " is 0, the input of the first block"};
    info.feature_layer = static_cast<std::size_t>(layers[0] - 1);
    info.llama_cpp_feature_layer = info.feature_layer;
    return ok_status();
}

// LLaVA-NeXT's files have the same tower and projector, but are asked with several tiles per picture. One
// view alone would be another model without a word.
Status refuse_tiles(const GgufReader& reader) {
    const std::string key = "clip.vision.image_grid_pinpoints";
    if (reader.find(key) == nullptr) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const auto sides, read_integers(reader, key, 1024, 0, 1 << 20));
    if (sides.empty()) return ok_status();
    return {Code::Unsupported, "the file is LLaVA-NeXT's, which cuts pictures into tiles (" + key +
                                   "); of this kind only LLaVA-1.5 is supported"};
}

Result<VisionInfo> read_info(const GgufReader& reader) {
    CLASP_RETURN_IF_ERROR(refuse_tiles(reader));
    const auto size = [&](const char* key, std::int64_t max) -> Result<std::size_t> {
        CLASP_ASSIGN_OR_RETURN(const std::int64_t value, read_integer(reader, key, 1, max));
        return static_cast<std::size_t>(value);
    };
    VisionInfo info;
    info.family = "clip-vit";
    info.projector_type = "mlp";
    CLASP_ASSIGN_OR_RETURN(info.image_size, size("clip.vision.image_size", kMaxImageSize));
    CLASP_ASSIGN_OR_RETURN(info.patch_size, size("clip.vision.patch_size", as_signed(info.image_size)));
    CLASP_ASSIGN_OR_RETURN(info.width, size("clip.vision.embedding_length", kMaxWidth));
    CLASP_ASSIGN_OR_RETURN(info.ffn_width, size("clip.vision.feed_forward_length", 8 * kMaxWidth));
    CLASP_ASSIGN_OR_RETURN(info.n_blocks, size("clip.vision.block_count", kMaxBlocks));
    CLASP_ASSIGN_OR_RETURN(info.n_heads, size("clip.vision.attention.head_count", as_signed(info.width)));
    CLASP_ASSIGN_OR_RETURN(info.norm_epsilon,
                           read_float(reader, "clip.vision.attention.layer_norm_epsilon", 0.0F, 1.0F));
    CLASP_ASSIGN_OR_RETURN(info.mean, read_channels(reader, "clip.vision.image_mean", -10.0F, 10.0F));
    CLASP_ASSIGN_OR_RETURN(info.std, read_channels(reader, "clip.vision.image_std", 1e-4F, 1e4F));
    CLASP_ASSIGN_OR_RETURN(info.activation, read_activation(reader));
    if (info.width % info.n_heads != 0) {
        return Status(Code::Corrupt, "the tower's width " + std::to_string(info.width) +
                                         " is no multiple of its " + std::to_string(info.n_heads) + " heads");
    }
    const std::size_t side = info.image_size / info.patch_size;
    info.grid = {.height = side, .width = side};
    if (as_signed(side * side) > kMaxTokens) {
        return Status(Code::Corrupt, "the tower makes " + std::to_string(side * side) +
                                         " tokens; the limit is " + std::to_string(kMaxTokens));
    }
    CLASP_RETURN_IF_ERROR(read_feature_layer(reader, info));
    return info;
}

// The most common type of the matrices that a tower uses.
std::string common_type(const GgufReader& reader, const std::vector<WeightSpec>& specs) {
    std::map<ggml_type, std::size_t> counts;
    for (const WeightSpec& spec : specs) {
        if (spec.use != WeightSpec::Use::Matrix) continue;
        for (const std::string& part : spec.parts) ++counts[reader.find_tensor(part)->type];
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? "" : ggml_type_name(most->first);
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
    [[nodiscard]] std::vector<float> patch_rows(std::span<const float> pixels, Compat compat) const override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph,
                               const EncodeRequest& request) const override;
    StretchGraph build_stretch(ggml_context* context, ggml_cgraph* graph,
                               const EncoderStretch& stretch) const override;
    ggml_tensor* build_projector(ggml_context* context, ggml_tensor* fused, Compat compat) const override {
        return projector_.build(context, fused, compat);
    }
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
    ggml_tensor* norm(ggml_context* context, ggml_tensor* x, ggml_tensor* scale, ggml_tensor* shift) const;
    ggml_tensor* embed(ggml_context* context, ggml_tensor* input, Compat compat) const;
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
    CLASP_ASSIGN_OR_RETURN(tower->info_, read_info(reader));
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
}

std::vector<float> ClipTower::patch_rows(std::span<const float> pixels, Compat compat) const {
    const std::size_t size = info_.image_size;
    const std::size_t patch = info_.patch_size;
    const auto row_width = static_cast<std::size_t>(row_values(compat));
    std::vector<float> rows(info_.n_tokens() * row_width, 0.0F);
    for (std::size_t y = 0; y < info_.grid.height; ++y) {
        for (std::size_t x = 0; x < info_.grid.width; ++x) {
            float* to = rows.data() + (y * info_.grid.width + x) * row_width;
            for (std::size_t channel = 0; channel < 3; ++channel) {
                for (std::size_t line = 0; line < patch; ++line, to += patch) {
                    const float* from =
                        pixels.data() + (channel * size + y * patch + line) * size + x * patch;
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

ggml_tensor* ClipTower::embed(ggml_context* context, ggml_tensor* input, Compat compat) const {
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
    const std::size_t class_row = compat == Compat::Original ? 0 : info_.n_tokens();
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

EncoderGraph ClipTower::build_encoder(ggml_context* context, ggml_cgraph* graph,
                                      const EncodeRequest& request) const {
    EncoderGraph result;
    result.input =
        ggml_new_tensor_2d(context, GGML_TYPE_F32, row_values(request.compat), as_signed(info_.n_tokens()));
    ggml_set_input(result.input);
    const Depth depth = depth_of(request);
    run_blocks(context, graph, embed(context, result.input, request.compat), 0, depth.n_whole, depth.n_begun,
               nullptr, request, result);
    return result;
}

StretchGraph ClipTower::build_stretch(ggml_context* context, ggml_cgraph* graph,
                                      const EncoderStretch& stretch) const {
    const Compat compat = stretch.request.compat;
    const std::int64_t n = as_signed(stretch.n_rows);
    StretchGraph result;
    result.parts.input = stretch.is_first
                             ? ggml_new_tensor_2d(context, GGML_TYPE_F32, row_values(compat), n - 1)
                             : ggml_new_tensor_2d(context, GGML_TYPE_F32, as_signed(info_.width), n);
    ggml_set_input(result.parts.input);
    ggml_tensor* x = stretch.is_first ? embed(context, result.parts.input, compat) : result.parts.input;
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
