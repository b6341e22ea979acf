#include "model/vit.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/attention_graph.h"
#include "model/segment_attention.h"

namespace clasp::model {

namespace {

std::int64_t signed_extent(std::size_t n) {
    return static_cast<std::int64_t>(n);
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

ggml_tensor* Vit::embed(ggml_context* context, std::span<const PiecePixels> pieces, Compat compat,
                        std::vector<GraphInput>& inputs) const {
    const std::int64_t n_patches = signed_extent(pieces.front().piece.shape.n_patches());
    const std::int64_t n_frames = signed_extent(pieces.size());
    ggml_tensor* input = ggml_new_tensor_2d(context, GGML_TYPE_F32, row_values(compat), n_patches * n_frames);
    std::vector<float> values;
    for (const PiecePixels& piece : pieces) {
        const std::vector<float> rows = patch_rows(piece, compat);
        values.insert(values.end(), rows.begin(), rows.end());
    }
    inputs.push_back(graph_input(input, values));
    const Linear& kernel = compat == Compat::Original ? patch_kernel_ : llama_cpp_patch_kernel_;
    const std::int64_t width = signed_extent(width_);
    ggml_tensor* rows =
        ggml_reshape_3d(context, build_linear(context, kernel, input), width, n_patches, n_frames);
    if (class_token_ != nullptr) {
        ggml_tensor* class_rows =
            n_frames == 1 ? class_token_ : ggml_repeat_4d(context, class_token_, width, 1, n_frames, 1);
        rows = compat == Compat::Original ? ggml_concat(context, class_rows, rows, 1)
                                          : ggml_concat(context, rows, class_rows, 1);
    }
    const std::int64_t n_rows = rows->ne[1];
    rows = ggml_reshape_2d(context, ggml_add(context, rows, positions_), width, n_rows * n_frames);
    if (pre_norm_ == nullptr) return rows;
    return norm(context, rows, pre_norm_, pre_norm_bias_, has_rms_norm(compat));
}

Vit::Run Vit::run_of(ggml_context* context, std::size_t n_frames, std::size_t n_rows, Compat compat,
                     std::vector<GraphInput>& inputs) const {
    Run run;
    run.compat = compat;
    run.n_frames = n_frames;
    if (n_frames == 1) return run;
    const auto held = [&](std::size_t n_parts, std::size_t n, std::vector<std::int32_t>& bounds) {
        for (std::size_t i = 0; i <= n_parts; ++i) bounds.push_back(static_cast<std::int32_t>(i * n));
        ggml_tensor* tensor = ggml_new_tensor_1d(context, GGML_TYPE_I32, signed_extent(bounds.size()));
        inputs.push_back(graph_input(tensor, bounds));
        return tensor;
    };
    run.held_frame_bounds = held(n_frames, n_rows, run.frame_bounds);
    run.held_place_bounds = held(n_rows, n_frames, run.place_bounds);
    return run;
}

// Rows are ordered by their place first, so that those that see each other are neighbours, and put back.
ggml_tensor* Vit::attend_over_time(ggml_context* context, const TimePart& part, ggml_tensor* x,
                                   const Run& run) const {
    const std::int64_t width = signed_extent(width_);
    const std::int64_t n_frames = signed_extent(run.n_frames);
    const std::int64_t n_places = x->ne[1] / n_frames;
    const std::int64_t heads = signed_extent(attention_.n_heads);
    const std::int64_t head_width = width / heads;
    const auto turned = [&](ggml_tensor* rows, std::int64_t inner, std::int64_t outer) {
        ggml_tensor* table = ggml_reshape_3d(context, rows, width, inner, outer);
        return ggml_reshape_2d(context, ggml_cont(context, ggml_permute(context, table, 0, 2, 1, 3)), width,
                               inner * outer);
    };
    ggml_tensor* by_place =
        ggml_reshape_3d(context, turned(x, n_places, n_frames), width, n_frames, n_places);
    by_place = ggml_reshape_2d(context, ggml_add(context, by_place, part.embedding), width, x->ne[1]);
    ggml_tensor* normed = norm(context, by_place, part.norm, part.norm_bias, false);
    ggml_tensor* qkv = build_linear(context, part.qkv, normed);
    ggml_tensor* mixed = nullptr;
    if (part.qkv.is_ours() && takes_segments(attention_, run.place_bounds)) {
        mixed =
            build_segment_attention(context, attention_, qkv, qkv, run.held_place_bounds, run.place_bounds);
    } else {
        const auto of = [&](std::size_t index) {
            ggml_tensor* view = ggml_view_4d(context, qkv, head_width, heads, n_frames, n_places,
                                             static_cast<std::size_t>(head_width) * sizeof(float), qkv->nb[1],
                                             qkv->nb[1] * run.n_frames, index * width_ * sizeof(float));
            return ggml_permute(context, view, 0, 2, 1, 3);
        };
        const Attention parts = {
            .query = of(0), .key = of(1), .value = of(2), .key_rows = nullptr, .all = qkv};
        mixed = flash_attention(context, parts, {});
    }
    ggml_tensor* after = ggml_add(context, build_linear(context, part.out, mixed), by_place);
    return turned(after, n_frames, n_places);
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
                              const Run& run) const {
    const std::int64_t width = signed_extent(width_);
    const std::int64_t heads = signed_extent(attention_.n_heads);
    const std::int64_t head_width = width / heads;
    const std::int64_t n_frames = signed_extent(run.n_frames);
    const std::int64_t n_rows = x->ne[1] / n_frames;
    ggml_tensor* normed = norm(context, x, block.norm1, block.norm1_bias, has_rms_norm(run.compat));
    ggml_tensor* qkv = build_linear(context, block.qkv, normed);
    if (block.query_norm != nullptr) qkv = norm_queries_and_keys(context, block, qkv, run.compat);
    const auto part = [&](std::size_t index) {
        ggml_tensor* view =
            ggml_view_4d(context, qkv, head_width, heads, n_rows, n_frames,
                         static_cast<std::size_t>(head_width) * sizeof(float), qkv->nb[1],
                         qkv->nb[1] * static_cast<std::size_t>(n_rows), index * width_ * sizeof(float));
        return ggml_permute(context, view, 0, 2, 1, 3);
    };
    return {.query = part(0),
            .key = part(1),
            .value = part(2),
            .key_rows = ggml_view_2d(context, qkv, width, x->ne[1], qkv->nb[1], width_ * sizeof(float)),
            .all = qkv};
}

ggml_tensor* Vit::attend(ggml_context* context, const Block& block, const Attention& parts, ggml_tensor* x,
                         const Run& run) const {
    const bool is_ours = block.qkv.is_ours() && run.compat == Compat::Original;
    const bool may_run = is_ours && run.bias == nullptr;
    ggml_tensor* mixed = nullptr;
    if (may_run && run.n_frames > 1 && takes_segments(attention_, run.frame_bounds)) {
        mixed = build_segment_attention(context, attention_, parts.all, parts.all, run.held_frame_bounds,
                                        run.frame_bounds);
    } else if (may_run && run.n_frames == 1 && attention_.fits(static_cast<std::size_t>(x->ne[1]))) {
        mixed = build_full_attention(context, attention_, parts.all);
    } else {
        mixed = flash_attention(context, parts, run);
    }
    ggml_tensor* added = build_linear(context, block.out, mixed);
    if (block.scale1 != nullptr) added = ggml_mul(context, added, block.scale1);
    return ggml_add(context, added, x);
}

ggml_tensor* Vit::flash_attention(ggml_context* context, const Attention& parts, const Run& run) const {
    ggml_tensor* key = parts.key;
    ggml_tensor* value = parts.value;
    if (run.compat == Compat::LlamaCpp) {
        key = ggml_cast(context, key, GGML_TYPE_F16);
        value = ggml_cast(context, value, GGML_TYPE_F16);
    }
    ggml_tensor* mixed =
        ggml_flash_attn_ext(context, parts.query, key, value, run.bias, attention_.scale, 0.0F, 0.0F);
    ggml_prec_set_acc(mixed, GGML_PREC_F32);
    return ggml_reshape_2d(context, mixed, signed_extent(width_), parts.query->ne[1] * parts.query->ne[3]);
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
    ggml_tensor* query = ggml_view_4d(context, parts.query, parts.query->ne[0], 1, parts.query->ne[2],
                                      parts.query->ne[3], parts.query->nb[1], parts.query->nb[2],
                                      parts.query->nb[3], class_row * parts.query->nb[1]);
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
                             std::size_t n_whole, std::size_t n_begun, const Run& run,
                             const EncodeRequest& request, EncoderGraph& result) const {
    for (std::size_t i = first; i < n_begun; ++i) {
        if (traits_.n_frames > 0) x = attend_over_time(context, blocks_[i].time, x, run);
        const Attention parts = attention(context, blocks_[i], x, run);
        if (contains(request.class_attention, i)) {
            ggml_tensor* weights = class_attention(context, parts, request.compat);
            result.class_attention.push_back(
                mark_output(graph, prefix_first(context, weights, 0, request.compat)));
        }
        if (contains(request.class_query, i)) {
            const std::size_t n_rows = static_cast<std::size_t>(x->ne[1]) / run.n_frames;
            const std::size_t row = request.compat == Compat::Original ? 0 : n_rows - 1;
            ggml_tensor* query =
                ggml_view_2d(context, parts.all, signed_extent(width_), signed_extent(run.n_frames),
                             n_rows * parts.all->nb[1], row * parts.all->nb[1]);
            result.class_query.push_back(mark_output(graph, ggml_cont(context, query)));
        }
        if (contains(request.keys, i)) {
            ggml_tensor* keys = ggml_cont(context, parts.key_rows);
            result.keys.push_back(mark_output(graph, prefix_first(context, keys, 1, request.compat)));
        }
        if (i + 1 == n_begun && i >= n_whole) break;
        x = feed_forward(context, blocks_[i], attend(context, blocks_[i], parts, x, run), request.compat);
        if (contains(request.layers, i)) {
            result.layers.push_back(mark_output(graph, prefix_first(context, x, 1, request.compat)));
        }
    }
    return x;
}

EncoderGraph Vit::build_encoder(ggml_context* context, ggml_cgraph* graph,
                                std::span<const PiecePixels> pieces, const EncodeRequest& request) const {
    CLASP_CHECK(traits_.n_frames == 0 || traits_.n_frames == pieces.size());
    EncoderGraph result;
    const Depth depth = depth_of(request);
    ggml_tensor* rows = embed(context, pieces, request.compat, result.inputs);
    const Run run = run_of(context, pieces.size(), static_cast<std::size_t>(rows->ne[1]) / pieces.size(),
                           request.compat, result.inputs);
    run_blocks(context, graph, rows, 0, depth.n_whole, depth.n_begun, run, request, result);
    return result;
}

StretchGraph Vit::build_stretch(ggml_context* context, ggml_cgraph* graph,
                                const EncoderStretch& stretch) const {
    const Compat compat = stretch.request.compat;
    const std::int64_t n = signed_extent(stretch.n_rows);
    StretchGraph result;
    Run run;
    run.compat = compat;
    ggml_tensor* x = nullptr;
    if (stretch.piece != nullptr) {
        x = embed(context, std::span(stretch.piece, 1), compat, result.parts.inputs);
    } else {
        x = result.entering = ggml_new_tensor_2d(context, GGML_TYPE_F32, signed_extent(width_), n);
        ggml_set_input(result.entering);
    }
    if (stretch.has_bias) {
        run.bias = result.bias = ggml_new_tensor_2d(context, GGML_TYPE_F16, n, n);
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
                   stretch.is_last ? depth.n_begun : stretch.last, run, stretch.request, result.parts);
    if (stretch.attend != kNoBlock) {
        const Block& block = blocks_[stretch.attend];
        const Attention parts = attention(context, block, x, run);
        if (stretch.wants_keys) result.keys = mark_output(graph, ggml_cont(context, parts.key_rows));
        if (stretch.wants_logits) {
            // The heads' dot products add up to that of whole rows, so their mean takes one product.
            ggml_tensor* queries =
                ggml_view_2d(context, parts.all, signed_extent(width_), x->ne[1], parts.all->nb[1], 0);
            const float scale = attention_.scale / static_cast<float>(attention_.n_heads);
            result.logits = mark_output(
                graph, ggml_scale(context, ggml_mul_mat(context, parts.key_rows, queries), scale));
        }
        x = attend(context, block, parts, x, run);
    }
    result.rows = mark_output(graph, x);
    return result;
}

}  // namespace clasp::model
