#include "model/vit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/attention_graph.h"
#include "model/vision_clip_file.h"

namespace clasp::model {

namespace {

constexpr std::int64_t kRowMultiple = 32;  // patch rows are padded to it: kernels want whole vectors

std::int64_t signed_extent(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

WeightSpec values_spec(const std::string& name, const std::string& part, std::size_t width,
                       std::size_t rows = 0) {
    WeightSpec spec{
        .name = name, .parts = {part}, .part_shape = {signed_extent(width)}, .width = signed_extent(width)};
    if (rows != 0) spec.part_shape.push_back(signed_extent(rows));
    return spec;
}

WeightSpec values_spec(const std::string& name, std::size_t width, std::size_t rows = 0) {
    return values_spec(name, name, width, rows);
}

WeightSpec matrix_spec(const std::string& name, std::vector<std::string> parts, std::size_t width,
                       std::size_t rows) {
    return {.name = name,
            .parts = std::move(parts),
            .part_shape = {signed_extent(width), signed_extent(rows)},
            .use = WeightSpec::Use::Matrix,
            .width = signed_extent(width)};
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

}  // namespace

Vit::Vit(const GgufReader& reader, const VisionInfo& info, const VitTraits& traits,
         std::vector<WeightSpec>& specs)
    : traits_(traits),
      patches_{info.image_size / info.patch_size, info.image_size / info.patch_size},
      patch_size_(info.patch_size),
      patch_values_(signed_extent(3 * info.patch_size * info.patch_size)),
      padded_patch_values_((patch_values_ + kRowMultiple - 1) / kRowMultiple * kRowMultiple),
      width_(info.width),
      ffn_width_(info.ffn_width),
      n_blocks_(info.n_blocks),
      norm_epsilon_(info.norm_epsilon),
      activation_(info.activation) {
    const std::size_t head_width = width_ / info.n_heads;
    attention_ = {.n_heads = info.n_heads,
                  .head_width = head_width,
                  .scale = 1.0F / std::sqrt(static_cast<float>(head_width))};
    const auto patch = signed_extent(patch_size_);
    const GgufTensor* kernel = reader.find_tensor("v.patch_embd.weight");
    WeightSpec kernel_spec = {.name = "v.patch_embd.weight",
                              .parts = {"v.patch_embd.weight"},
                              .part_shape = {patch, patch, 3, signed_extent(width_)},
                              .use = WeightSpec::Use::Matrix,
                              .width = patch_values_,
                              .padded_width = padded_patch_values_};
    specs.push_back(kernel_spec);
    // llama.cpp multiplies patches with the kernel in half precision (single if the file has BF16), in rows
    // of exactly this width: the same numbers need the same operands.
    const bool is_bf16 = kernel != nullptr && kernel->type == GGML_TYPE_BF16;
    llama_cpp_patches_are_half_ = !is_bf16;
    kernel_spec.name = "v.patch_embd.llama_cpp";
    kernel_spec.padded_width = 0;
    kernel_spec.type = is_bf16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
    specs.push_back(std::move(kernel_spec));
    if (traits_.has_patch_bias) specs.push_back(values_spec("v.patch_embd.bias", width_));
    const std::size_t n_prefix = traits_.has_class_token ? 1 : 0;
    if (traits_.has_class_token) specs.push_back(values_spec("v.class_embd", width_));
    specs.push_back(
        values_spec("v.position_embd.weight", width_, patches_.height * patches_.width + n_prefix));
    if (traits_.has_pre_norm) {
        specs.push_back(values_spec("v.pre_ln.weight", width_));
        if (traits_.has_norm_bias) specs.push_back(values_spec("v.pre_ln.bias", width_));
    }
    for (std::size_t i = 0; i < n_blocks_; ++i) add_block_specs(reader, i, specs);
}

void Vit::add_block_specs(const GgufReader& reader, std::size_t index, std::vector<WeightSpec>& specs) const {
    const std::string prefix = "v.blk." + std::to_string(index) + ".";
    std::vector<std::string> rows = {"ln1.weight", "ln2.weight", "attn_out.bias"};
    if (traits_.has_norm_bias) rows.insert(rows.end(), {"ln1.bias", "ln2.bias"});
    if (traits_.has_layer_scale) rows.insert(rows.end(), {"ls1.weight", "ls2.weight"});
    for (const std::string& name : rows) specs.push_back(values_spec(prefix + name, width_));
    if (traits_.qk_norm != VitTraits::QkNorm::None) {
        const std::size_t width = traits_.qk_norm == VitTraits::QkNorm::Head ? attention_.head_width : width_;
        for (const char* name : {"attn_q_norm.weight", "attn_k_norm.weight"}) {
            specs.push_back(values_spec(prefix + name, width));
        }
    }
    specs.push_back(matrix_spec(
        prefix + "qkv.weight", {prefix + "attn_q.weight", prefix + "attn_k.weight", prefix + "attn_v.weight"},
        width_, width_));
    if (traits_.has_qkv_bias) {
        WeightSpec bias = values_spec(prefix + "qkv.bias", width_);
        bias.parts = {prefix + "attn_q.bias", prefix + "attn_k.bias", prefix + "attn_v.bias"};
        specs.push_back(std::move(bias));
    }
    specs.push_back(matrix_spec(prefix + "attn_out.weight", {prefix + "attn_out.weight"}, width_, width_));
    const FfnNames ffn = traits_.may_swap_ffn ? ffn_names(reader, prefix, width_)
                                              : FfnNames{prefix + "ffn_up", prefix + "ffn_down"};
    specs.push_back(matrix_spec(prefix + "fc1.weight", {ffn.first + ".weight"}, width_, ffn_width_));
    specs.push_back(matrix_spec(prefix + "fc2.weight", {ffn.second + ".weight"}, ffn_width_, width_));
    specs.push_back(values_spec(prefix + "fc1.bias", ffn.first + ".bias", ffn_width_));
    specs.push_back(values_spec(prefix + "fc2.bias", ffn.second + ".bias", width_));
}

void Vit::bind(const WeightStore& store) {
    const auto get_if = [&](bool is_there, const std::string& name) {
        return is_there ? store.get(name) : nullptr;
    };
    patch_kernel_ = store.linear("v.patch_embd.weight");
    llama_cpp_patch_kernel_ = store.linear("v.patch_embd.llama_cpp");
    patch_kernel_.bias = get_if(traits_.has_patch_bias, "v.patch_embd.bias");
    llama_cpp_patch_kernel_.bias = patch_kernel_.bias;
    class_token_ = get_if(traits_.has_class_token, "v.class_embd");
    positions_ = store.get("v.position_embd.weight");
    pre_norm_ = get_if(traits_.has_pre_norm, "v.pre_ln.weight");
    pre_norm_bias_ = get_if(traits_.has_pre_norm && traits_.has_norm_bias, "v.pre_ln.bias");
    blocks_.resize(n_blocks_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const std::string prefix = "v.blk." + std::to_string(i) + ".";
        const auto linear = [&](const std::string& name) {
            return store.linear(prefix + name + ".weight", prefix + name + ".bias");
        };
        const bool has_qk_norm = traits_.qk_norm != VitTraits::QkNorm::None;
        blocks_[i] = {.norm1 = store.get(prefix + "ln1.weight"),
                      .norm1_bias = get_if(traits_.has_norm_bias, prefix + "ln1.bias"),
                      .qkv = traits_.has_qkv_bias ? linear("qkv") : store.linear(prefix + "qkv.weight"),
                      .query_norm = get_if(has_qk_norm, prefix + "attn_q_norm.weight"),
                      .key_norm = get_if(has_qk_norm, prefix + "attn_k_norm.weight"),
                      .out = linear("attn_out"),
                      .scale1 = get_if(traits_.has_layer_scale, prefix + "ls1.weight"),
                      .norm2 = store.get(prefix + "ln2.weight"),
                      .norm2_bias = get_if(traits_.has_norm_bias, prefix + "ln2.bias"),
                      .first = linear("fc1"),
                      .second = linear("fc2"),
                      .scale2 = get_if(traits_.has_layer_scale, prefix + "ls2.weight")};
    }
}

std::vector<float> Vit::patch_rows(const PiecePixels& piece, Compat compat) const {
    const auto width = static_cast<std::size_t>(piece.piece.size.width);
    const auto height = static_cast<std::size_t>(piece.piece.size.height);
    const Grid grid = piece.piece.shape.patches;
    const std::size_t patch = patch_size_;
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

ggml_tensor* Vit::norm(ggml_context* context, ggml_tensor* x, ggml_tensor* scale, ggml_tensor* shift,
                       bool is_rms) const {
    x = is_rms ? ggml_rms_norm(context, x, norm_epsilon_) : ggml_norm(context, x, norm_epsilon_);
    x = ggml_mul(context, x, scale);
    return shift != nullptr ? ggml_add(context, x, shift) : x;
}

// llama.cpp takes the tanh form of GELU.
LinearActivation Vit::activation(Compat compat) const {
    if (activation_ == Activation::QuickGelu) return LinearActivation::QuickGelu;
    if (activation_ == Activation::Silu) return LinearActivation::Silu;
    const bool is_exact = compat == Compat::Original && !traits_.has_tanh_gelu;
    return is_exact ? LinearActivation::Gelu : LinearActivation::TanhGelu;
}

ggml_tensor* Vit::embed(ggml_context* context, const PiecePixels& piece, Compat compat,
                        std::vector<GraphInput>& inputs) const {
    ggml_tensor* input = ggml_new_tensor_2d(context, GGML_TYPE_F32, row_values(compat),
                                            signed_extent(piece.piece.shape.n_patches()));
    inputs.push_back(graph_input(input, patch_rows(piece, compat)));
    const Linear& kernel = compat == Compat::Original ? patch_kernel_ : llama_cpp_patch_kernel_;
    ggml_tensor* rows = build_linear(context, kernel, input);
    if (class_token_ != nullptr) {
        rows = compat == Compat::Original ? ggml_concat(context, class_token_, rows, 1)
                                          : ggml_concat(context, rows, class_token_, 1);
    }
    rows = ggml_add(context, rows, positions_);
    if (pre_norm_ == nullptr) return rows;
    return norm(context, rows, pre_norm_, pre_norm_bias_, has_rms_norm(compat));
}

ggml_tensor* Vit::norm_queries_and_keys(ggml_context* context, const Block& block, ggml_tensor* qkv,
                                        Compat compat) const {
    const std::int64_t width = signed_extent(width_);
    const std::int64_t span =
        traits_.qk_norm == VitTraits::QkNorm::Head ? signed_extent(attention_.head_width) : width;
    // llama.cpp has one kind of norm for all; the original takes RMSNorm here, whatever the others are.
    const bool is_rms = compat == Compat::Original || traits_.llama_cpp_has_rms_norm;
    const auto normed = [&](std::size_t part, ggml_tensor* scale) {
        ggml_tensor* view = ggml_view_3d(context, qkv, span, width / span, qkv->ne[1],
                                         static_cast<std::size_t>(span) * sizeof(float), qkv->nb[1],
                                         part * width_ * sizeof(float));
        return ggml_reshape_2d(context, norm(context, view, scale, nullptr, is_rms), width, qkv->ne[1]);
    };
    ggml_tensor* value =
        ggml_view_2d(context, qkv, width, qkv->ne[1], qkv->nb[1], 2 * width_ * sizeof(float));
    ggml_tensor* both = ggml_concat(context, normed(0, block.query_norm), normed(1, block.key_norm), 0);
    return ggml_concat(context, both, value, 0);
}

Vit::Attention Vit::attention(ggml_context* context, const Block& block, ggml_tensor* x,
                              Compat compat) const {
    const std::int64_t width = signed_extent(width_);
    const std::int64_t heads = signed_extent(attention_.n_heads);
    const std::int64_t head_width = width / heads;
    ggml_tensor* normed = norm(context, x, block.norm1, block.norm1_bias, has_rms_norm(compat));
    ggml_tensor* qkv = build_linear(context, block.qkv, normed);
    if (block.query_norm != nullptr) qkv = norm_queries_and_keys(context, block, qkv, compat);
    const auto part = [&](std::size_t index) {
        ggml_tensor* view = ggml_view_3d(context, qkv, head_width, heads, x->ne[1],
                                         static_cast<std::size_t>(head_width) * sizeof(float), qkv->nb[1],
                                         index * width_ * sizeof(float));
        return ggml_permute(context, view, 0, 2, 1, 3);
    };
    return {.query = part(0),
            .key = part(1),
            .value = part(2),
            .key_rows = ggml_view_2d(context, qkv, width, x->ne[1], qkv->nb[1], width_ * sizeof(float)),
            .all = qkv};
}

ggml_tensor* Vit::attend(ggml_context* context, const Block& block, const Attention& parts, ggml_tensor* x,
                         ggml_tensor* bias, Compat compat) const {
    const bool is_packed = block.qkv.packed != nullptr && compat == Compat::Original;
    const bool has_kernel =
        is_packed && bias == nullptr && attention_.fits(static_cast<std::size_t>(x->ne[1]));
    ggml_tensor* mixed = has_kernel ? build_full_attention(context, attention_, parts.all)
                                    : flash_attention(context, parts, bias, compat);
    ggml_tensor* added = build_linear(context, block.out, mixed);
    if (block.scale1 != nullptr) added = ggml_mul(context, added, block.scale1);
    return ggml_add(context, added, x);
}

ggml_tensor* Vit::flash_attention(ggml_context* context, const Attention& parts, ggml_tensor* bias,
                                  Compat compat) const {
    ggml_tensor* key = parts.key;
    ggml_tensor* value = parts.value;
    if (compat == Compat::LlamaCpp) {
        key = ggml_cast(context, key, GGML_TYPE_F16);
        value = ggml_cast(context, value, GGML_TYPE_F16);
    }
    ggml_tensor* mixed =
        ggml_flash_attn_ext(context, parts.query, key, value, bias, attention_.scale, 0.0F, 0.0F);
    ggml_prec_set_acc(mixed, GGML_PREC_F32);
    return ggml_reshape_2d(context, mixed, signed_extent(width_), parts.query->ne[1]);
}

ggml_tensor* Vit::feed_forward(ggml_context* context, const Block& block, ggml_tensor* x,
                               Compat compat) const {
    ggml_tensor* normed = norm(context, x, block.norm2, block.norm2_bias, has_rms_norm(compat));
    ggml_tensor* hidden = build_linear(context, block.first, normed, activation(compat));
    ggml_tensor* added = build_linear(context, block.second, hidden);
    if (block.scale2 != nullptr) added = ggml_mul(context, added, block.scale2);
    return ggml_add(context, x, added);
}

ggml_tensor* Vit::class_attention(ggml_context* context, const Attention& parts, Compat compat) const {
    const float scale = attention_.scale;
    // llama.cpp has it behind the patches.
    const auto class_row =
        compat == Compat::Original ? std::size_t{0} : static_cast<std::size_t>(parts.query->ne[1] - 1);
    ggml_tensor* query = ggml_view_3d(context, parts.query, parts.query->ne[0], 1, parts.query->ne[2],
                                      parts.query->nb[1], parts.query->nb[2], class_row * parts.query->nb[1]);
    return ggml_soft_max_ext(context, ggml_mul_mat(context, parts.key, query), nullptr, scale, 0.0F);
}

ggml_tensor* Vit::prefix_first(ggml_context* context, ggml_tensor* x, int axis, Compat compat) const {
    const bool is_first = compat == Compat::Original || traits_.llama_cpp_projects_class;
    if (is_first || !traits_.has_class_token) return x;
    const auto part = [&](std::int64_t first, std::int64_t count) {
        std::int64_t extents[3] = {x->ne[0], x->ne[1], x->ne[2]};
        extents[axis] = count;
        return ggml_view_3d(context, x, extents[0], extents[1], extents[2], x->nb[1], x->nb[2],
                            static_cast<std::size_t>(first) * x->nb[axis]);
    };
    const std::int64_t last = x->ne[axis] - 1;
    return ggml_concat(context, part(last, 1), part(0, last), axis);
}

ggml_tensor* Vit::run_blocks(ggml_context* context, ggml_cgraph* graph, ggml_tensor* x, std::size_t first,
                             std::size_t n_whole, std::size_t n_begun, ggml_tensor* bias,
                             const EncodeRequest& request, EncoderGraph& result) const {
    for (std::size_t i = first; i < n_begun; ++i) {
        const Attention parts = attention(context, blocks_[i], x, request.compat);
        if (contains(request.class_attention, i)) {
            ggml_tensor* weights = class_attention(context, parts, request.compat);
            result.class_attention.push_back(
                mark_output(graph, prefix_first(context, weights, 0, request.compat)));
        }
        if (contains(request.class_query, i)) {
            const std::size_t row =
                request.compat == Compat::Original ? 0 : static_cast<std::size_t>(x->ne[1] - 1);
            ggml_tensor* query = ggml_view_2d(context, parts.all, signed_extent(width_), 1, parts.all->nb[1],
                                              row * parts.all->nb[1]);
            result.class_query.push_back(mark_output(graph, ggml_cont(context, query)));
        }
        if (contains(request.keys, i)) {
            ggml_tensor* keys = ggml_cont(context, parts.key_rows);
            result.keys.push_back(mark_output(graph, prefix_first(context, keys, 1, request.compat)));
        }
        if (i + 1 == n_begun && i >= n_whole) break;
        x = feed_forward(context, blocks_[i], attend(context, blocks_[i], parts, x, bias, request.compat),
                         request.compat);
        if (contains(request.layers, i)) {
            result.layers.push_back(mark_output(graph, prefix_first(context, x, 1, request.compat)));
        }
    }
    return x;
}

EncoderGraph Vit::build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                                const EncodeRequest& request) const {
    EncoderGraph result;
    const Depth depth = depth_of(request);
    ggml_tensor* rows = embed(context, piece, request.compat, result.inputs);
    run_blocks(context, graph, rows, 0, depth.n_whole, depth.n_begun, nullptr, request, result);
    return result;
}

StretchGraph Vit::build_stretch(ggml_context* context, ggml_cgraph* graph,
                                const EncoderStretch& stretch) const {
    const Compat compat = stretch.request.compat;
    const std::int64_t n = signed_extent(stretch.n_rows);
    StretchGraph result;
    ggml_tensor* x = nullptr;
    if (stretch.piece != nullptr) {
        x = embed(context, *stretch.piece, compat, result.parts.inputs);
    } else {
        x = result.entering = ggml_new_tensor_2d(context, GGML_TYPE_F32, signed_extent(width_), n);
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
        const Attention parts = attention(context, block, x, compat);
        if (stretch.wants_keys) result.keys = mark_output(graph, ggml_cont(context, parts.key_rows));
        if (stretch.wants_logits) {
            // The heads' dot products add up to that of whole rows, so their mean takes one product.
            ggml_tensor* queries =
                ggml_view_2d(context, parts.all, signed_extent(width_), x->ne[1], parts.all->nb[1], 0);
            const float scale = attention_.scale / static_cast<float>(attention_.n_heads);
            result.logits = mark_output(
                graph, ggml_scale(context, ggml_mul_mat(context, parts.key_rows, queries), scale));
        }
        x = attend(context, block, parts, x, result.bias, compat);
    }
    result.rows = mark_output(graph, x);
    return result;
}

}  // namespace clasp::model
