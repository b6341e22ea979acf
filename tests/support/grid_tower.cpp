#include "support/grid_tower.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>
#include <sstream>
#include <utility>

#include "ggml-backend.h"
#include "model/gguf_metadata.h"
#include "model/vision_tower.h"
#include "support/gguf_writer.h"

namespace clasp::test {

namespace {

using namespace model;

constexpr std::size_t kPatch = 4;
constexpr std::size_t kPatchValues = 3 * kPatch * kPatch;
constexpr std::size_t kMerge = 2;
constexpr std::size_t kNewline = 0;
constexpr std::size_t kSeparator = 1;

std::int64_t as_signed(std::size_t n) {
    return static_cast<std::int64_t>(n);
}

// Patches of a piece in the order of the encoder's rows: the four of a token stand together.
std::vector<std::pair<std::size_t, std::size_t>> row_order(const PieceShape& shape) {
    std::vector<std::pair<std::size_t, std::size_t>> order;  // y, x
    for (std::size_t y = 0; y < shape.patches.height; y += kMerge) {
        for (std::size_t x = 0; x < shape.patches.width; x += kMerge) {
            for (std::size_t i = 0; i < kMerge * kMerge; ++i) {
                order.emplace_back(y + i / kMerge, x + i % kMerge);
            }
        }
    }
    return order;
}

class GridTower final : public VisionTower {
   public:
    static Result<std::unique_ptr<VisionTower>> open(const GgufReader& reader) {
        auto tower = std::make_unique<GridTower>();
        VisionInfo& info = tower->info_;
        info.family = "test-grid";
        info.projector_type = "test-grid";
        info.weight_type = "f32";
        info.image_size = kGridMaxSide;
        info.patch_size = kPatch;
        info.grid = {8, 8};
        info.capabilities = {.has_class_token = false, .merge = kMerge, .merges_inside = false};
        info.width = kGridWidth;
        info.n_heads = 1;
        CLASP_ASSIGN_OR_RETURN(const std::int64_t blocks,
                               read_integer(reader, "clip.vision.block_count", 1, 64));
        info.n_blocks = static_cast<std::size_t>(blocks);
        info.feature_layer = info.llama_cpp_feature_layer = info.n_blocks - 1;
        CLASP_ASSIGN_OR_RETURN(const std::int64_t width,
                               read_integer(reader, "clip.vision.projection_dim", 1, 4096));
        info.output_width = static_cast<std::size_t>(width);
        info.mean = {0.5F, 0.5F, 0.5F};
        info.std = {0.5F, 0.5F, 0.5F};
        CLASP_ASSIGN_OR_RETURN(tower->has_text_, read_flag(reader, "clip.test.text"));
        tower->add("v.patch", kPatchValues, kGridWidth);
        tower->add("v.position", 2, kGridWidth);
        for (std::size_t i = 0; i < info.n_blocks; ++i) {
            tower->add("v.blk." + std::to_string(i), kGridWidth, kGridWidth);
        }
        tower->add("mm", kMerge * kMerge * kGridWidth, info.output_width);
        tower->add("v.fixed", info.output_width, 2);
        for (const WeightSpec& spec : tower->specs_) CLASP_RETURN_IF_ERROR(check_spec(reader, spec));
        return std::unique_ptr<VisionTower>(std::move(tower));
    }

    [[nodiscard]] const VisionInfo& info() const override { return info_; }
    [[nodiscard]] const std::vector<WeightSpec>& specs() const override { return specs_; }
    void bind(const WeightStore& store) override {
        patch_ = store.get("v.patch");
        position_ = store.get("v.position");
        projector_ = store.get("mm");
        for (std::size_t i = 0; i < info_.n_blocks; ++i) {
            blocks_.push_back(store.get("v.blk." + std::to_string(i)));
        }
        fixed_.resize(2 * info_.output_width);
        ggml_backend_tensor_get(store.get("v.fixed"), fixed_.data(), 0, fixed_.size() * sizeof(float));
    }

    [[nodiscard]] Result<VisionPlan> plan(PixelSize picture, const PlanOptions& /*options*/) const override {
        const std::size_t rows = grid_side(picture.height);
        const std::size_t columns = grid_side(picture.width);
        const PixelSize size = {static_cast<int>(columns) * kGridTokenSide,
                                static_cast<int>(rows) * kGridTokenSide};
        VisionPlan plan;
        plan.views = {{.fit = image::stretch_fit({16, 16}, image::Filter::Bilinear)},
                      {.fit = image::stretch_fit(size, image::Filter::Bicubic)}};
        plan.pieces = {{.view = 0, .size = {16, 16}, .shape = {.patches = {4, 4}, .merge = kMerge}},
                       {.view = 1,
                        .size = size,
                        .shape = {.patches = {rows * kMerge, columns * kMerge}, .merge = kMerge}}};
        using Kind = ArrangedRun::Kind;
        plan.arrangement.push_back({.kind = Kind::Tokens, .piece = 0, .first = 0, .count = kGridOverview});
        plan.arrangement.push_back(
            {.kind = Kind::Fixed, .fixed = kSeparator, .first_token = 0, .n_tokens = kGridOverview});
        if (has_text_) plan.arrangement.push_back({.kind = Kind::Text, .text = "abc"});
        for (std::size_t row = 0; row < rows; ++row) {
            plan.arrangement.push_back(
                {.kind = Kind::Tokens, .piece = 1, .first = row * columns, .count = columns});
            plan.arrangement.push_back({.kind = Kind::Fixed,
                                        .fixed = kNewline,
                                        .first_token = kGridOverview + row * columns,
                                        .n_tokens = columns});
        }
        ImageLayout& layout = plan.layout;
        layout.picture = picture;
        layout.resized = size;
        layout.n_pieces = 2;
        layout.grid = {rows, columns};
        layout.n_fixed = 1 + rows;
        layout.regions = {{.grid = {2, 2}, .area = area_of(plan, plan.pieces[0]), .view = 0},
                          {.grid = {rows, columns}, .area = area_of(plan, plan.pieces[1]), .view = 1}};
        return plan;
    }

    EncoderGraph build_encoder(ggml_context* context, ggml_cgraph* graph, const PiecePixels& piece,
                               const EncodeRequest& request) const override {
        EncoderGraph result;
        const auto n = as_signed(piece.piece.shape.n_patches());
        ggml_tensor* patches = ggml_new_tensor_2d(context, GGML_TYPE_F32, as_signed(kPatchValues), n);
        ggml_tensor* places = ggml_new_tensor_2d(context, GGML_TYPE_F32, 2, n);
        result.inputs.push_back(graph_input(patches, patch_rows(piece)));
        result.inputs.push_back(graph_input(places, coordinates(piece.piece.shape)));
        ggml_tensor* x = ggml_add(context, ggml_mul_mat(context, patch_, patches),
                                  ggml_mul_mat(context, position_, places));
        std::size_t n_blocks = 0;
        for (const std::size_t layer : request.layers) n_blocks = std::max(n_blocks, layer + 1);
        for (std::size_t i = 0; i < n_blocks; ++i) {
            ggml_tensor* unit = ggml_norm(context, x, 1e-5F);
            // Every row looks at all rows of its piece.
            ggml_tensor* seen =
                ggml_soft_max_ext(context, ggml_mul_mat(context, unit, unit), nullptr, 0.1F, 0.0F);
            ggml_tensor* mixed =
                ggml_mul_mat(context, ggml_cont(context, ggml_transpose(context, unit)), seen);
            x = ggml_add(context, x, ggml_silu(context, ggml_mul_mat(context, blocks_[i], mixed)));
            if (std::find(request.layers.begin(), request.layers.end(), i) == request.layers.end()) continue;
            ggml_set_output(x);
            ggml_build_forward_expand(graph, x);
            result.layers.push_back(x);
        }
        return result;
    }

    ProjectorGraph build_projector(ggml_context* context, ggml_tensor* fused, const PieceShape& shape,
                                   Compat /*compat*/) const override {
        ProjectorGraph result;
        const auto n = as_signed(shape.n_tokens());
        // The rows stand in order already; that an index can be had is what is shown.
        std::vector<std::int32_t> order(shape.n_tokens());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
        ggml_tensor* index = ggml_new_tensor_1d(context, GGML_TYPE_I32, n);
        result.inputs.push_back(graph_input(index, order));
        ggml_tensor* groups = ggml_reshape_2d(context, fused, as_signed(kMerge * kMerge * kGridWidth), n);
        result.tokens = ggml_mul_mat(context, projector_, ggml_get_rows(context, groups, index));
        return result;
    }

    [[nodiscard]] std::vector<float> fixed_row(std::size_t number) const override {
        const auto from = fixed_.begin() + static_cast<std::ptrdiff_t>(number * info_.output_width);
        return {from, from + static_cast<std::ptrdiff_t>(info_.output_width)};
    }
    [[nodiscard]] std::size_t max_nodes() const override { return 64 + 16 * info_.n_blocks; }

   private:
    void add(const std::string& name, std::size_t width, std::size_t rows) {
        specs_.push_back({.name = name,
                          .parts = {name},
                          .part_shape = {as_signed(width), as_signed(rows)},
                          .width = as_signed(width)});
    }
    static std::vector<float> patch_rows(const PiecePixels& piece) {
        const auto width = static_cast<std::size_t>(piece.piece.size.width);
        const auto height = static_cast<std::size_t>(piece.piece.size.height);
        std::vector<float> rows;
        for (const auto& [y, x] : row_order(piece.piece.shape)) {
            for (std::size_t i = 0; i < kPatchValues; ++i) {
                const std::size_t channel = i / (kPatch * kPatch);
                const std::size_t line = y * kPatch + i / kPatch % kPatch;
                rows.push_back(piece.values[(channel * height + line) * width + x * kPatch + i % kPatch]);
            }
        }
        return rows;
    }
    static std::vector<float> coordinates(const PieceShape& shape) {
        std::vector<float> values;
        for (const auto& [y, x] : row_order(shape)) {
            values.push_back(static_cast<float>(y) / static_cast<float>(shape.patches.height));
            values.push_back(static_cast<float>(x) / static_cast<float>(shape.patches.width));
        }
        return values;
    }

    VisionInfo info_;
    bool has_text_ = false;
    std::vector<WeightSpec> specs_;
    ggml_tensor* patch_ = nullptr;
    ggml_tensor* position_ = nullptr;
    ggml_tensor* projector_ = nullptr;
    std::vector<ggml_tensor*> blocks_;
    std::vector<float> fixed_;
};

}  // namespace

std::size_t grid_side(int pixels) {
    const int rounded = (pixels + kGridTokenSide - 1) / kGridTokenSide;
    return static_cast<std::size_t>(std::clamp(rounded, 1, kGridMaxSide / kGridTokenSide));
}

void register_grid_tower() {
    static std::once_flag once;
    std::call_once(once, [] { register_vision_family("test-grid", GridTower::open); });
}

std::string grid_mmproj(const GridSpec& spec) {
    GgufWriter writer;
    writer.string("general.architecture", "clip");
    writer.flag("clip.has_vision_encoder", true);
    writer.string("clip.projector_type", "test-grid");
    writer.u32("clip.vision.block_count", static_cast<std::uint32_t>(spec.n_blocks));
    writer.u32("clip.vision.projection_dim", static_cast<std::uint32_t>(spec.output_width));
    writer.flag("clip.test.text", spec.has_text);
    std::mt19937 random(spec.seed);
    const auto add = [&](const std::string& name, std::size_t width, std::size_t rows) {
        std::vector<float> values(width * rows);
        const float scale = 1.7F / std::sqrt(static_cast<float>(width));
        for (float& value : values) {
            value = (static_cast<float>(random() % 65536) / 32768.0F - 1.0F) * scale;
        }
        const std::size_t n_bytes = values.size() * sizeof(float);
        writer.tensor(name, {as_signed(width), as_signed(rows)}, GGML_TYPE_F32, n_bytes, [values, n_bytes] {
            return std::string(reinterpret_cast<const char*>(values.data()), n_bytes);
        });
    };
    add("v.patch", kPatchValues, kGridWidth);
    add("v.position", 2, kGridWidth);
    for (std::size_t i = 0; i < spec.n_blocks; ++i) {
        add("v.blk." + std::to_string(i), kGridWidth, kGridWidth);
    }
    add("mm", kMerge * kMerge * kGridWidth, spec.output_width);
    add("v.fixed", spec.output_width, 2);
    std::ostringstream out;
    writer.write(out);
    return out.str();
}

}  // namespace clasp::test
