#include "model/vision_qwen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/linear.h"
#include "model/patch_order.h"
#include "model/segment_attention.h"
#include "model/vision_qwen_file.h"
#include "model/vision_qwen_plan.h"

namespace clasp::model {

namespace {

constexpr float kRotationBase = 10000.0F;

std::int64_t ggml_size(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

struct QwenNorm {
    ggml_tensor* scale = nullptr;
    ggml_tensor* shift = nullptr;  // null: an RMS norm
};

struct QwenBlock {
    QwenNorm norm1;
    Linear qkv;  // query, key and value stacked: width -> 3 * width
    Linear out;
    QwenNorm norm2;
    Linear first;  // with a gate: the gate, then what it opens for
    Linear second;
};

// What all blocks share: where rows stand, and which rows see each other.
struct QwenRows {
    PatchOrder order;
    ggml_tensor* positions = nullptr;  // I32 [4 * rows]: y, x, y, x
    // One pair for blocks that see windows alone, one for those that see everything.
    struct Segments {
        std::vector<WindowRun> runs;
        std::vector<std::int32_t> bounds;
        ggml_tensor* held_bounds = nullptr;  // I32
    };
    Segments windows;
    Segments whole;
};

QwenRows::Segments segments_of(ggml_context* context, std::vector<WindowRun> runs,
                               std::vector<GraphInput>& inputs) {
    QwenRows::Segments segments;
    segments.runs = std::move(runs);
    segments.bounds = {0};
    for (const WindowRun& run : segments.runs) {
        for (std::size_t i = 0; i < run.n_windows; ++i) {
            segments.bounds.push_back(segments.bounds.back() + static_cast<std::int32_t>(run.n_rows));
        }
    }
    segments.held_bounds = ggml_new_tensor_1d(context, GGML_TYPE_I32, ggml_size(segments.bounds.size()));
    inputs.push_back(graph_input(segments.held_bounds, segments.bounds));
    return segments;
}

// Where the patches of one side of a picture fall on a table of positions.
class TableAxis {
   public:
    struct Place {
        std::int32_t index = 0;
        double weight = 0.0;
    };
    TableAxis(std::int32_t side, std::size_t n_patches)
        : side_(side), step_(n_patches > 1 ? (side - 1.0) / (static_cast<double>(n_patches) - 1.0) : 0.0) {}

    // The place before a patch or at it, or the one behind.
    [[nodiscard]] Place at(std::int32_t patch, bool is_behind) const {
        const double exact = step_ * patch;
        const auto before = std::min(static_cast<std::int32_t>(exact), side_ - 1);
        const double share = exact - before;
        if (is_behind) return {std::min(before + 1, side_ - 1), share};
        return {before, 1.0 - share};
    }

   private:
    std::int32_t side_;
    double step_;
};

// Queries and keys are turned, values are not.
struct QwenAttention {
    ggml_tensor* qkv = nullptr;      // [3 * width, rows]
    ggml_tensor* rotated = nullptr;  // [head width, 2 * heads, rows]: queries, then keys
};

class QwenTower final : public VisionTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader,
                                                     const QwenGeneration& generation);

    [[nodiscard]] const VisionInfo& info() const override { return file_.info; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return file_.specs; }
    void bind(const WeightStore& store) override;
    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& options) const override;
    [[nodiscard]] Result<VisionPlan> plan_clip(const ClipFrames& clip,
                                               const PlanOptions& options) const override;
    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override;
    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& shape,
                                   Compat compat) const override;
    ProjectorGraph build_branch(ggml_context* context, ggml_tensor* rows, std::size_t branch,
                                const PieceShape& shape, Compat compat) const override;
    [[nodiscard]] std::size_t max_nodes() const override { return 128 + 96 * file_.info.n_blocks; }

   private:
    [[nodiscard]] QwenNorm bind_norm(const WeightStore& store, const std::string& name) const;
    ggml_tensor* norm(ggml_context* context, ggml_tensor* x, const QwenNorm& by) const;
    // Of the first or the second three planes.
    [[nodiscard]] std::vector<float> patch_rows(const PiecePixels& piece, std::size_t frame,
                                                const PatchOrder& order, Compat compat) const;
    ggml_tensor* embed(ggml_context* context, const PiecePixels& piece, const PatchOrder& order,
                       Compat compat, std::vector<GraphInput>& inputs) const;
    ggml_tensor* add_positions(ggml_context* context, ggml_tensor* x, const PieceShape& shape,
                               const PatchOrder& order, std::vector<GraphInput>& inputs) const;
    [[nodiscard]] QwenRows lay_out(ggml_context* context, const PieceShape& shape,
                                   std::vector<GraphInput>& inputs) const;
    [[nodiscard]] bool uses_kernel(const QwenBlock& block, const QwenRows::Segments& segments,
                                   Compat compat) const;
    [[nodiscard]] QwenAttention attention(ggml_context* context, const QwenBlock& block, ggml_tensor* x,
                                          ggml_tensor* positions, bool in_place) const;
    // [width, rows]
    ggml_tensor* flash_attention(ggml_context* context, const QwenAttention& parts,
                                 const std::vector<WindowRun>& runs, Compat compat) const;
    ggml_tensor* feed_forward(ggml_context* context, const QwenBlock& block, ggml_tensor* x) const;
    // Returns null if nothing of the block is wanted but its keys.
    ggml_tensor* run_block(ggml_context* context, ggml_cgraph* graph, std::size_t index, ggml_tensor* x,
                           const QwenRows& rows, const EncodeRequest& request, bool is_whole,
                           EncoderGraph& result) const;

    QwenFile file_;
    FullAttention attention_;
    bool llama_cpp_patches_are_half_ = true;

    struct Kernels {
        Linear first;   // of the first of two frames
        Linear second;  // a picture is both
    };
    Kernels kernels_;
    Kernels llama_cpp_kernels_;
    std::vector<QwenBlock> blocks_;
    QwenNorm post_norm_;
    ggml_tensor* patch_bias_ = nullptr;  // null without a table of positions
    ggml_tensor* positions_ = nullptr;   // [width, side * side]
    struct Branch {
        QwenNorm norm;  // of merged rows
        Linear first;
        Linear second;
    };
    std::vector<Branch> branches_;
};

Result<std::unique_ptr<VisionTower>> QwenTower::open(const GgufReader& reader,
                                                     const QwenGeneration& generation) {
    auto tower = std::make_unique<QwenTower>();
    CLASP_ASSIGN_OR_RETURN(tower->file_, read_qwen_file(reader, generation));
    VisionInfo& info = tower->file_.info;
    const std::size_t head_width = info.width / info.n_heads;
    tower->attention_ = {.n_heads = info.n_heads,
                         .head_width = head_width,
                         .scale = 1.0F / std::sqrt(static_cast<float>(head_width))};
    tower->llama_cpp_patches_are_half_ = reader.find_tensor("v.patch_embd.weight")->type != GGML_TYPE_BF16;
    const auto side = static_cast<int>(info.image_size);
    CLASP_ASSIGN_OR_RETURN(const VisionPlan usual, plan_qwen_picture(tower->file_, {side, side}, {}));
    info.grid = usual.layout.grid;
    return std::unique_ptr<VisionTower>(std::move(tower));
}

QwenNorm QwenTower::bind_norm(const WeightStore& store, const std::string& name) const {
    return {store.get(name + ".weight"),
            file_.generation->has_rms_norms ? nullptr : store.get(name + ".bias")};
}

void QwenTower::bind(const WeightStore& store) {
    kernels_ = {store.linear("v.patch_embd.weight"), store.linear("v.patch_embd.weight.1")};
    llama_cpp_kernels_ = {store.linear("v.patch_embd.weight.llama_cpp"),
                          store.linear("v.patch_embd.weight.1.llama_cpp")};
    for (std::size_t i = 0; i < file_.info.n_blocks; ++i) {
        const std::string prefix = "v.blk." + std::to_string(i) + ".";
        const auto linear = [&](const std::string& name) {
            return store.linear(prefix + name + ".weight", prefix + name + ".bias");
        };
        blocks_.push_back({.norm1 = bind_norm(store, prefix + "ln1"),
                           .qkv = linear("qkv"),
                           .out = linear("attn_out"),
                           .norm2 = bind_norm(store, prefix + "ln2"),
                           .first = linear("fc1"),
                           .second = linear("fc2")});
    }
    post_norm_ = bind_norm(store, "v.post_ln");
    file_.merger.bind(store);
    if (file_.generation->has_positions) {
        patch_bias_ = store.get("v.patch_embd.bias");
        positions_ = store.get("v.position_embd.weight");
    }
    for (const std::size_t block : file_.info.branch_layers) {
        const std::string prefix = "v.deepstack." + std::to_string(block) + ".";
        branches_.push_back({.norm = bind_norm(store, prefix + "norm"),
                             .first = store.linear(prefix + "fc1.weight", prefix + "fc1.bias"),
                             .second = store.linear(prefix + "fc2.weight", prefix + "fc2.bias")});
    }
}

Result<VisionPlan> QwenTower::plan(PixelSize picture, const PlanOptions& options) const {
    return plan_qwen_picture(file_, picture, options);
}

Result<VisionPlan> QwenTower::plan_clip(const ClipFrames& clip, const PlanOptions& options) const {
    return plan_qwen_clip(file_, clip, options);
}

std::vector<float> QwenTower::patch_rows(const PiecePixels& piece, std::size_t frame, const PatchOrder& order,
                                         Compat compat) const {
    const auto width = static_cast<std::size_t>(piece.piece.size.width);
    const auto height = static_cast<std::size_t>(piece.piece.size.height);
    const std::size_t patch = file_.info.patch_size;
    const std::size_t row_width =
        compat == Compat::Original ? file_.padded_patch_values() : file_.patch_values();
    const float* planes = piece.values.data() + frame * 3 * height * width;
    std::vector<float> rows(order.rows.size() * row_width, 0.0F);
    for (std::size_t row = 0; row < order.rows.size(); ++row) {
        const std::size_t top = static_cast<std::size_t>(order.rows[row].y) * patch;
        const std::size_t left = static_cast<std::size_t>(order.rows[row].x) * patch;
        float* to = rows.data() + row * row_width;
        for (std::size_t channel = 0; channel < 3; ++channel) {
            for (std::size_t line = 0; line < patch; ++line, to += patch) {
                std::copy_n(planes + (channel * height + top + line) * width + left, patch, to);
            }
        }
    }
    if (compat == Compat::LlamaCpp && llama_cpp_patches_are_half_) {
        for (float& value : rows) value = ggml_fp16_to_fp32(ggml_fp32_to_fp16(value));
    }
    return rows;
}

ggml_tensor* QwenTower::norm(ggml_context* context, ggml_tensor* x, const QwenNorm& by) const {
    const float epsilon = file_.info.norm_epsilon;
    if (by.shift == nullptr) return ggml_mul(context, ggml_rms_norm(context, x, epsilon), by.scale);
    return ggml_add(context, ggml_mul(context, ggml_norm(context, x, epsilon), by.scale), by.shift);
}

ggml_tensor* QwenTower::embed(ggml_context* context, const PiecePixels& piece, const PatchOrder& order,
                              Compat compat, std::vector<GraphInput>& inputs) const {
    const std::size_t n = order.rows.size();
    const auto patches_of = [&](std::size_t frame) {
        const std::vector<float> rows = patch_rows(piece, frame, order, compat);
        ggml_tensor* held =
            ggml_new_tensor_2d(context, GGML_TYPE_F32, ggml_size(rows.size() / n), ggml_size(n));
        inputs.push_back(graph_input(held, rows));
        return held;
    };
    ggml_tensor* patches = patches_of(0);
    ggml_tensor* second = piece.piece.is_pair() ? patches_of(1) : patches;
    const Kernels& kernels = compat == Compat::Original ? kernels_ : llama_cpp_kernels_;
    ggml_tensor* embedded = ggml_add(context, build_linear(context, kernels.first, patches),
                                     build_linear(context, kernels.second, second));
    if (positions_ == nullptr) return embedded;
    return add_positions(context, ggml_add(context, embedded, patch_bias_), piece.piece.shape, order, inputs);
}

// The table is stretched over the patches with its corners on theirs: each patch takes the four places around
// it, by how near they are.
ggml_tensor* QwenTower::add_positions(ggml_context* context, ggml_tensor* x, const PieceShape& shape,
                                      const PatchOrder& order, std::vector<GraphInput>& inputs) const {
    const std::size_t n = order.rows.size();
    const auto side = static_cast<std::int32_t>(file_.position_side);
    const TableAxis rows(side, shape.patches.height);
    const TableAxis columns(side, shape.patches.width);
    for (const bool is_lower : {false, true}) {
        for (const bool is_right : {false, true}) {
            std::vector<std::int32_t> places(n);
            std::vector<float> weights(n);
            for (std::size_t i = 0; i < n; ++i) {
                const TableAxis::Place y = rows.at(order.rows[i].y, is_lower);
                const TableAxis::Place column = columns.at(order.rows[i].x, is_right);
                places[i] = y.index * side + column.index;
                weights[i] = static_cast<float>(y.weight * column.weight);
            }
            ggml_tensor* held_places = ggml_new_tensor_1d(context, GGML_TYPE_I32, ggml_size(n));
            ggml_tensor* held_weights = ggml_new_tensor_2d(context, GGML_TYPE_F32, 1, ggml_size(n));
            inputs.push_back(graph_input(held_places, places));
            inputs.push_back(graph_input(held_weights, weights));
            ggml_tensor* near = ggml_get_rows(context, positions_, held_places);
            x = ggml_add(context, x, ggml_mul(context, near, held_weights));
        }
    }
    return x;
}

QwenRows QwenTower::lay_out(ggml_context* context, const PieceShape& shape,
                            std::vector<GraphInput>& inputs) const {
    QwenRows rows;
    rows.order = patch_order(shape, file_.window);
    const std::size_t n = rows.order.rows.size();
    std::vector<std::int32_t> positions(4 * n);
    for (std::size_t i = 0; i < n; ++i) {
        const PatchOrder::Place place = rows.order.rows[i];
        positions[i] = positions[2 * n + i] = place.y;
        positions[n + i] = positions[3 * n + i] = place.x;
    }
    rows.positions = ggml_new_tensor_1d(context, GGML_TYPE_I32, ggml_size(4 * n));
    inputs.push_back(graph_input(rows.positions, positions));
    rows.whole = segments_of(context, {{0, n, 1}}, inputs);
    if (file_.window != 0) rows.windows = segments_of(context, rows.order.windows, inputs);
    return rows;
}

bool QwenTower::uses_kernel(const QwenBlock& block, const QwenRows::Segments& segments, Compat compat) const {
    return compat == Compat::Original && block.qkv.is_ours() && takes_segments(attention_, segments.bounds);
}

QwenAttention QwenTower::attention(ggml_context* context, const QwenBlock& block, ggml_tensor* x,
                                   ggml_tensor* positions, bool in_place) const {
    const auto head_width = ggml_size(attention_.head_width);
    const auto quarter = static_cast<int>(attention_.head_width / 4);
    std::array<int, GGML_MROPE_SECTIONS> sections = {quarter, quarter, quarter, quarter};
    ggml_tensor* qkv = build_linear(context, block.qkv, norm(context, x, block.norm1));
    ggml_tensor* turning = ggml_view_3d(context, qkv, head_width, 2 * ggml_size(attention_.n_heads), x->ne[1],
                                        attention_.head_width * sizeof(float), qkv->nb[1], 0);
    const auto rotate = in_place ? ggml_rope_multi_inplace : ggml_rope_multi;
    // Without extrapolation the length of the context means nothing.
    return {qkv, rotate(context, turning, positions, nullptr, 2 * quarter, sections.data(),
                        GGML_ROPE_TYPE_VISION, 32768, kRotationBase, 1.0F, 0.0F, 1.0F, 32.0F, 1.0F)};
}

ggml_tensor* QwenTower::flash_attention(ggml_context* context, const QwenAttention& parts,
                                        const std::vector<WindowRun>& runs, Compat compat) const {
    const auto head_width = ggml_size(attention_.head_width);
    const auto heads = ggml_size(attention_.n_heads);
    // The windows of a run as [head width, rows, heads, windows]; a head's part of a row begins at `offset`.
    const auto windows = [&](ggml_tensor* rows, std::size_t row_bytes, const WindowRun& run,
                             std::size_t offset) {
        return ggml_view_4d(context, rows, head_width, ggml_size(run.n_rows), heads, ggml_size(run.n_windows),
                            row_bytes, attention_.head_width * sizeof(float), run.n_rows * row_bytes,
                            run.first_row * row_bytes + offset);
    };
    const std::size_t width_bytes = file_.info.width * sizeof(float);
    ggml_tensor* all = nullptr;
    for (const WindowRun& run : runs) {
        ggml_tensor* query = windows(parts.rotated, parts.rotated->nb[2], run, 0);
        ggml_tensor* key = windows(parts.rotated, parts.rotated->nb[2], run, width_bytes);
        ggml_tensor* value = windows(parts.qkv, parts.qkv->nb[1], run, 2 * width_bytes);
        if (compat == Compat::LlamaCpp) {
            key = ggml_cast(context, key, GGML_TYPE_F16);
            value = ggml_cast(context, value, GGML_TYPE_F16);
        }
        ggml_tensor* mixed =
            ggml_flash_attn_ext(context, query, key, value, nullptr, attention_.scale, 0.0F, 0.0F);
        ggml_prec_set_acc(mixed, GGML_PREC_F32);
        mixed = ggml_reshape_2d(context, mixed, ggml_size(file_.info.width),
                                ggml_size(run.n_rows * run.n_windows));
        all = all == nullptr ? mixed : ggml_concat(context, all, mixed, 1);
    }
    return all;
}

ggml_tensor* QwenTower::feed_forward(ggml_context* context, const QwenBlock& block, ggml_tensor* x) const {
    ggml_tensor* normed = norm(context, x, block.norm2);
    ggml_tensor* hidden = nullptr;
    if (file_.generation->has_gate) {
        hidden = ggml_swiglu(context, build_linear(context, block.first, normed));
    } else {
        const bool is_quick = file_.generation->activation == Activation::QuickGelu;
        hidden = build_linear(context, block.first, normed,
                              is_quick ? LinearActivation::QuickGelu : LinearActivation::TanhGelu);
    }
    return ggml_add(context, x, build_linear(context, block.second, hidden));
}

bool asks_for(const std::vector<std::size_t>& blocks, std::size_t block) {
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
}

ggml_tensor* as_output(ggml_cgraph* graph, ggml_tensor* tensor) {
    ggml_set_output(tensor);
    ggml_build_forward_expand(graph, tensor);
    return tensor;
}

ggml_tensor* QwenTower::run_block(ggml_context* context, ggml_cgraph* graph, std::size_t index,
                                  ggml_tensor* x, const QwenRows& rows, const EncodeRequest& request,
                                  bool is_whole, EncoderGraph& result) const {
    const QwenBlock& block = blocks_[index];
    const QwenRows::Segments& segments = file_.sees_all(index) ? rows.whole : rows.windows;
    const bool has_kernel = uses_kernel(block, segments, request.compat);
    const QwenAttention parts = attention(context, block, x, rows.positions, has_kernel);
    if (asks_for(request.keys, index)) {
        ggml_tensor* keys = ggml_view_2d(context, parts.rotated, ggml_size(file_.info.width), x->ne[1],
                                         parts.rotated->nb[2], file_.info.width * sizeof(float));
        result.keys.push_back(as_output(graph, ggml_cont(context, keys)));
    }
    if (!is_whole) return nullptr;
    ggml_tensor* mixed = has_kernel ? build_segment_attention(context, attention_, parts.qkv, parts.rotated,
                                                              segments.held_bounds, segments.bounds)
                                    : flash_attention(context, parts, segments.runs, request.compat);
    x = ggml_add(context, build_linear(context, block.out, mixed), x);
    x = feed_forward(context, block, x);
    if (asks_for(request.layers, index)) result.layers.push_back(as_output(graph, x));
    return x;
}

EncoderGraph QwenTower::build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                                      const EncodeRequest& request) const {
    EncoderGraph result;
    const QwenRows rows = lay_out(context, piece.piece.shape, result.inputs);
    ggml_tensor* x = embed(context, piece, rows.order, request.compat, result.inputs);
    const std::size_t n_whole = request.layers.empty() ? 0 : request.layers.back() + 1;
    const std::size_t n_begun = std::max(n_whole, request.keys.empty() ? 0 : request.keys.back() + 1);
    for (std::size_t i = 0; i < n_begun; ++i) {
        const bool is_whole = i < n_whole || i + 1 < n_begun;
        x = run_block(context, graph, i, x, rows, request, is_whole, result);
    }
    return result;
}

ProjectorGraph QwenTower::build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& shape,
                                          Compat compat) const {
    ProjectorGraph result;
    const auto n_tokens = ggml_size(shape.n_tokens());
    ggml_tensor* groups = ggml_reshape_2d(context, norm(context, fused, post_norm_),
                                          ggml_size(shape.merge * shape.merge * file_.info.width), n_tokens);
    result.tokens = file_.merger.build(context, groups, compat);
    if (file_.window == 0) return result;
    ggml_tensor* index = ggml_new_tensor_1d(context, GGML_TYPE_I32, n_tokens);
    result.inputs.push_back(graph_input(index, groups_of_tokens(patch_order(shape, file_.window))));
    result.tokens = ggml_get_rows(context, result.tokens, index);
    return result;
}

// Rows are merged before their norm here. Towers with branches have no windows, so tokens stand in order.
ProjectorGraph QwenTower::build_branch(ggml_context* context, ggml_tensor* rows, std::size_t branch,
                                       const PieceShape& shape, Compat compat) const {
    const Branch& by = branches_[branch];
    ggml_tensor* groups =
        ggml_reshape_2d(context, rows, ggml_size(file_.merged_width()), ggml_size(shape.n_tokens()));
    const LinearActivation gelu =
        compat == Compat::Original ? LinearActivation::Gelu : LinearActivation::TanhGelu;
    ggml_tensor* hidden = build_linear(context, by.first, norm(context, groups, by.norm), gelu);
    return {.inputs = {}, .tokens = build_linear(context, by.second, hidden)};
}

}  // namespace

Result<std::unique_ptr<VisionTower>> open_qwen2_tower(const GgufReader& reader) {
    return QwenTower::open(reader, kQwen2Vl);
}

Result<std::unique_ptr<VisionTower>> open_qwen25_tower(const GgufReader& reader) {
    return QwenTower::open(reader, kQwen25Vl);
}

Result<std::unique_ptr<VisionTower>> open_qwen25_omni_tower(const GgufReader& reader) {
    return QwenTower::open(reader, kQwen25Omni);
}

Result<std::unique_ptr<VisionTower>> open_qwen3_tower(const GgufReader& reader) {
    return QwenTower::open(reader, kQwen3Vl);
}

}  // namespace clasp::model
