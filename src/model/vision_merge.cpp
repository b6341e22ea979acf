// Runs the encoder in stretches, between which a method merges rows.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "methods/rows.h"
#include "model/vision_model.h"

namespace clasp::model {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<float> read_floats(const ggml_tensor* tensor) {
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, values.size() * sizeof(float));
    return values;
}

// Rows between two stretches: the prefix, then the patches.
struct EncoderRows {
    std::size_t n_prefix = 0;
    std::vector<float> values;
    std::vector<float> sizes;
    std::vector<std::vector<TokenIndex>> members;

    [[nodiscard]] bool has_sizes() const {
        return std::any_of(sizes.begin(), sizes.end(), [](float size) { return size != 1.0F; });
    }
};

EncoderRows all_rows(const PieceShape& shape) {
    EncoderRows rows;
    rows.n_prefix = shape.n_prefix;
    rows.sizes.assign(shape.n_rows(), 1.0F);
    rows.members.resize(shape.n_rows());
    for (std::size_t patch = 0; patch < shape.n_patches(); ++patch) {
        rows.members[shape.n_prefix + patch] = {static_cast<TokenIndex>(patch)};
    }
    return rows;
}

void set_bias(ggml_tensor* tensor, const std::vector<float>& sizes) {
    std::vector<ggml_fp16_t> bias(sizes.size() * sizes.size());
    for (std::size_t key = 0; key < sizes.size(); ++key) {
        bias[key] = ggml_fp32_to_fp16(std::log(sizes[key]));
    }
    for (std::size_t query = 1; query < sizes.size(); ++query) {
        std::copy_n(bias.begin(), sizes.size(),
                    bias.begin() + static_cast<std::ptrdiff_t>(query * sizes.size()));
    }
    ggml_backend_tensor_set(tensor, bias.data(), 0, bias.size() * sizeof(ggml_fp16_t));
}

Status merge(methods::MethodRun& run, methods::BlockInput input, std::size_t width, EncoderRows& rows) {
    input.n_rows = rows.sizes.size();
    input.sizes = rows.sizes;
    input.members = rows.members;
    input.has_class_token = rows.n_prefix > 0;
    methods::Plan plan;
    CLASP_RETURN_IF_ERROR(run.inside_encoder(input, plan));
    CLASP_RETURN_IF_ERROR(methods::check_plan(plan, input.n_rows, false));
    const bool lost_class = rows.n_prefix > 0 && (plan.size() == 0 || plan.kept[0] != 0);
    if (plan.size() <= rows.n_prefix || lost_class ||
        (!plan.sizes.empty() && plan.sizes.size() != plan.size())) {
        return {Code::Internal,
                "a plan inside the encoder must begin with the class token and size each row"};
    }
    rows.values = methods::apply_to_rows(plan, {rows.values.data(), input.n_rows, width, width}, nullptr);
    rows.members = methods::apply_to_members(plan, rows.members);
    rows.sizes = plan.sizes.empty() ? std::vector<float>(plan.size(), 1.0F) : plan.sizes;
    return ok_status();
}

// Rows in the order of their first patch.
void sort_rows(std::size_t width, MergedLayers& merged) {
    const std::size_t n = merged.members.size();
    std::vector<TokenIndex> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<TokenIndex>(i);
    std::sort(order.begin(), order.end(),
              [&](TokenIndex a, TokenIndex b) { return merged.members[a] < merged.members[b]; });
    methods::Plan plan;
    plan.keep_all_of(order, methods::Reason::Merged);
    for (LayerOutput& layer : merged.layers.layers) {
        layer.values = methods::apply_to_rows(plan, {layer.values.data(), n, width, width}, nullptr);
    }
    merged.members = methods::apply_to_members(plan, merged.members);
}

}  // namespace

Result<MergedLayers> VisionSession::encode_merging(const PiecePixels& piece, const EncodeRequest& request,
                                                   methods::MethodRun& run, const MergePlace& place,
                                                   const std::atomic<bool>* cancel,
                                                   const GraphProgress& progress) {
    CLASP_RETURN_IF_ERROR(check(piece, request));
    const PieceShape& shape = piece.piece.shape;
    if (!model_->info().capabilities.merges_inside || shape.merge > 1) {
        return Status(Code::Unsupported, "this vision tower cannot merge rows between its blocks");
    }
    if (request.compat != Compat::Original) {
        return Status(Code::Unsupported,
                      "merging inside the encoder is not available with llama.cpp's numbers");
    }
    const Clock::time_point start = Clock::now();
    const VisionTower& tower = *model_->tower_;
    const VisionInfo& info = tower.info();
    const methods::Program& program = run.program();
    EncoderRows rows = all_rows(shape);
    MergedLayers merged;
    EncoderStretch stretch;
    stretch.request.compat = request.compat;
    stretch.piece = &piece;
    stretch.tower = shape.tower;
    for (std::size_t step = 0; step <= program.encoder_blocks.size(); ++step) {
        const bool is_final =
            step == program.encoder_blocks.size() || rows.members.size() - shape.n_prefix <= place.keep;
        const std::size_t block = is_final ? kNoBlock : program.encoder_blocks[step];
        const bool stops_inside = !is_final && !program.merges_after_block;
        stretch.is_last = is_final;
        if (is_final) stretch.request = request;
        stretch.last = stops_inside ? block : block + 1;
        stretch.attend = stops_inside ? block : kNoBlock;
        stretch.n_rows = rows.sizes.size();
        stretch.has_bias = rows.has_sizes();
        stretch.wants_keys = stops_inside && program.encoder.block_keys;
        stretch.wants_logits = stops_inside && program.encoder.block_logits;
        CLASP_RETURN_IF_ERROR(graph_.reset());
        const StretchGraph graph = tower.build_stretch(graph_.ggml(), graph_.graph(), stretch);
        CLASP_RETURN_IF_ERROR(runner_->allocate(graph_.graph()));
        fill_inputs(graph.parts.inputs);
        if (graph.entering != nullptr) {
            ggml_backend_tensor_set(graph.entering, rows.values.data(), 0,
                                    rows.values.size() * sizeof(float));
        }
        // After the last merge no attention may be left to compute, and then the bias is in no graph.
        const bool has_bias = graph.bias != nullptr && graph.bias->buffer != nullptr;
        if (has_bias) set_bias(graph.bias, rows.sizes);
        const auto n_steps = static_cast<double>(program.encoder_blocks.size() + 1);
        const auto tell = [&](double share) { progress((static_cast<double>(step) + share) / n_steps); };
        CLASP_RETURN_IF_ERROR(
            runner_->compute(graph_.graph(), cancel, progress ? GraphProgress(tell) : GraphProgress()));
        if (is_final) {
            read_parts(graph.parts, shape, request, merged.layers);
            break;
        }
        rows.values = read_floats(graph.rows);
        const std::vector<float> keys =
            graph.keys != nullptr ? read_floats(graph.keys) : std::vector<float>();
        const std::vector<float> logits =
            graph.logits != nullptr ? read_floats(graph.logits) : std::vector<float>();
        const Clock::time_point merge_start = Clock::now();
        methods::BlockInput input;
        input.image = place.image;
        input.block = block;
        input.grid = {shape.patches.height, shape.patches.width};
        input.keep = place.keep;
        input.n_heads = info.n_heads;
        input.keys = {keys.data(), keys.size() / info.width, info.width, info.width};
        input.logits = logits;
        if (program.encoder.block_hidden) {
            input.hidden = {rows.values.data(), rows.sizes.size(), info.width, info.width};
        }
        input.pool = place.pool;
        CLASP_RETURN_IF_ERROR(merge(run, input, info.width, rows));
        merged.merge_ms += ms_since(merge_start);
        stretch.piece = nullptr;
        stretch.finish = stops_inside ? block : kNoBlock;
        stretch.first = block + 1;
    }
    merged.members.assign(rows.members.begin() + static_cast<std::ptrdiff_t>(shape.n_prefix),
                          rows.members.end());
    if (!program.keeps_encoder_order) {
        if (!request.class_attention.empty() || !request.keys.empty()) {
            return Status(Code::Internal, "a method that reads attention of merged rows keeps their order");
        }
        sort_rows(info.width, merged);
    }
    merged.layers.encode_ms = ms_since(start);
    return merged;
}

}  // namespace clasp::model
