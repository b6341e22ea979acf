#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "model/vision_model.h"

namespace clasp::model {

namespace {

// Milliseconds since it was made or last asked.
class Stopwatch {
   public:
    double lap_ms() {
        const auto now = Clock::now();
        const std::chrono::duration<double, std::milli> elapsed = now - start_;
        start_ = now;
        return elapsed.count();
    }

   private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

// A tensor of float32.
std::vector<float> read_rows(const ggml_tensor* tensor) {
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, values.size() * sizeof(float));
    return values;
}

// Part `number` of a tensor of float32, of `n` values.
std::vector<float> read_part(const ggml_tensor* tensor, std::size_t number, std::size_t n) {
    std::vector<float> values(n);
    ggml_backend_tensor_get(tensor, values.data(), number * n * sizeof(float), n * sizeof(float));
    return values;
}

void set_values(ggml_tensor* tensor, std::span<const float> values) {
    ggml_backend_tensor_set(tensor, values.data(), 0, values.size() * sizeof(float));
}

Status check_layers(const std::vector<std::size_t>& layers, std::size_t n_blocks) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (layers[i] >= n_blocks) {
            return {Code::InvalidArgument, "vision layer " + std::to_string(layers[i]) +
                                               " does not exist: the file has " + std::to_string(n_blocks) +
                                               " blocks, 0 to " + std::to_string(n_blocks - 1)};
        }
        if (i > 0 && layers[i] <= layers[i - 1]) {
            return {Code::InvalidArgument, "vision layers must be given in rising order"};
        }
    }
    return ok_status();
}

ClassAttention read_attention(const ggml_tensor* tensor, std::size_t layer, std::size_t number) {
    ClassAttention attention;
    attention.layer = layer;
    attention.n_heads = static_cast<std::size_t>(tensor->ne[2]);
    const auto n_columns = static_cast<std::size_t>(tensor->ne[0]);
    attention.per_head = read_part(tensor, number, attention.n_heads * n_columns);
    attention.mean.assign(n_columns, 0.0F);
    for (std::size_t column = 0; column < n_columns; ++column) {
        double sum = 0.0;
        for (std::size_t head = 0; head < attention.n_heads; ++head) {
            sum += static_cast<double>(attention.per_head[head * n_columns + column]);
        }
        attention.mean[column] = static_cast<float>(sum / static_cast<double>(attention.n_heads));
    }
    return attention;
}

Status check_finite(std::span<const float> values, std::size_t width) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) {
            return {Code::Corrupt,
                    "the vision tower gave a value that is not finite at token " + std::to_string(i / width)};
        }
    }
    return ok_status();
}

}  // namespace

Result<std::unique_ptr<VisionSession>> VisionSession::create(std::shared_ptr<const VisionModel> model) {
    std::unique_ptr<VisionSession> session(new VisionSession());
    session->model_ = std::move(model);
    const std::size_t max_nodes = session->model_->tower_->max_nodes();
    CLASP_ASSIGN_OR_RETURN(session->runner_, GraphRunner::create(session->model_->compute_, max_nodes));
    CLASP_ASSIGN_OR_RETURN(session->graph_, GraphContext::create(max_nodes));
    return session;
}

Status VisionSession::check(const PiecePixels& piece, const EncodeRequest& request) const {
    const VisionInfo& info = model_->info();
    const PixelSize size = piece.piece.size;
    const std::size_t n_planes = piece.piece.n_planes();
    const std::size_t n_pixels =
        n_planes * static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
    if (piece.values.size() != n_pixels) {
        return {Code::InvalidArgument, "the vision tower takes " + std::to_string(n_pixels) +
                                           " pixel values, " + std::to_string(n_planes) + " planes of " +
                                           std::to_string(size.width) + " x " + std::to_string(size.height) +
                                           ", not " + std::to_string(piece.values.size())};
    }
    const bool wants_class = !request.class_attention.empty() || !request.class_query.empty();
    if (wants_class && piece.piece.shape.n_prefix == 0) {
        return {Code::Unsupported, "the vision tower has no class token, whose attention was asked for"};
    }
    if (request.compat == Compat::LlamaCpp && info.has_post_norm) {
        return {Code::Unsupported, "llama.cpp's numbers are not available for towers with v.post_ln.weight"};
    }
    CLASP_RETURN_IF_ERROR(check_layers(request.layers, info.n_blocks));
    CLASP_RETURN_IF_ERROR(check_layers(request.class_attention, info.n_blocks));
    CLASP_RETURN_IF_ERROR(check_layers(request.keys, info.n_blocks));
    CLASP_RETURN_IF_ERROR(check_layers(request.class_query, info.n_blocks));
    if (request.layers.empty() && request.class_attention.empty() && request.keys.empty() &&
        request.class_query.empty()) {
        return {Code::InvalidArgument, "no vision layer was asked for"};
    }
    return ok_status();
}

void VisionSession::read_parts(const EncoderGraph& encoder, const PieceShape& shape,
                               const EncodeRequest& request, VisionLayers& result, std::size_t number) const {
    const VisionInfo& info = model_->info();
    result.shape = shape;
    result.width = info.width;
    result.compat = request.compat;
    const std::size_t n_apart = (shape.n_prefix - shape.n_class_tokens()) * info.width;
    // Of a group a tensor holds as many rows of each piece; rows that were merged are of one alone.
    const auto n_values = [&](const ggml_tensor* tensor) {
        const auto n = static_cast<std::size_t>(ggml_nelements(tensor));
        return number == 0 && n < shape.n_rows() * info.width ? n : shape.n_rows() * info.width;
    };
    for (std::size_t i = 0; i < encoder.layers.size(); ++i) {
        std::vector<float> rows = read_part(encoder.layers[i], number, n_values(encoder.layers[i]));
        const auto projected = rows.begin() + static_cast<std::ptrdiff_t>(n_apart);
        result.layers.push_back({.layer = request.layers[i],
                                 .values = std::vector<float>(projected, rows.end()),
                                 .class_row = std::vector<float>(rows.begin(), projected)});
    }
    for (std::size_t i = 0; i < encoder.class_attention.size(); ++i) {
        result.class_attention.push_back(
            read_attention(encoder.class_attention[i], request.class_attention[i], number));
    }
    for (std::size_t i = 0; i < encoder.keys.size(); ++i) {
        result.keys.push_back({.layer = request.keys[i],
                               .values = read_part(encoder.keys[i], number, n_values(encoder.keys[i]))});
    }
    for (std::size_t i = 0; i < encoder.class_query.size(); ++i) {
        result.class_query.push_back({.layer = request.class_query[i],
                                      .values = read_part(encoder.class_query[i], number, info.width)});
    }
}

Result<VisionLayers> VisionSession::encode(const PiecePixels& piece, const EncodeRequest& request,
                                           const std::atomic<bool>* cancel, const GraphProgress& progress) {
    CLASP_ASSIGN_OR_RETURN(std::vector<VisionLayers> layers,
                           encode_group(std::span(&piece, 1), request, cancel, progress));
    return std::move(layers.front());
}

Result<std::vector<VisionLayers>> VisionSession::encode_group(std::span<const PiecePixels> pieces,
                                                              const EncodeRequest& request,
                                                              const std::atomic<bool>* cancel,
                                                              const GraphProgress& progress) {
    for (const PiecePixels& piece : pieces) CLASP_RETURN_IF_ERROR(check(piece, request));
    Stopwatch stopwatch;
    const VisionTower& tower = *model_->tower_;
    const PieceShape& shape = pieces.front().piece.shape;
    std::vector<VisionLayers> result(pieces.size());
    if (tower.is_outside()) {
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            read_parts({}, shape, request, result[i]);
            CLASP_ASSIGN_OR_RETURN(std::vector<float> rows, tower.encode_outside(pieces[i]));
            result[i].layers.push_back({.layer = 0, .values = std::move(rows)});
            result[i].encode_ms = stopwatch.lap_ms();
        }
        return result;
    }
    CLASP_RETURN_IF_ERROR(graph_.reset());
    const EncoderGraph encoder = tower.build_group_encoder(graph_.ggml(), graph_.graph(), pieces, request);
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph_.graph()));
    fill_inputs(encoder.inputs);
    CLASP_RETURN_IF_ERROR(runner_->compute(graph_.graph(), cancel, progress));
    for (std::size_t i = 0; i < pieces.size(); ++i) read_parts(encoder, shape, request, result[i], i);
    // Their time is one; each has its share.
    const double elapsed_ms = stopwatch.lap_ms();
    for (VisionLayers& layers : result) layers.encode_ms = elapsed_ms / static_cast<double>(result.size());
    return result;
}

Result<std::vector<float>> VisionSession::run_to(ggml_tensor* output, std::span<ggml_tensor* const> inputs,
                                                 std::span<const std::span<const float>> values,
                                                 const std::vector<GraphInput>& more,
                                                 const std::atomic<bool>* cancel) {
    ggml_set_output(output);
    ggml_build_forward_expand(graph_.graph(), output);
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph_.graph()));
    fill_inputs(more);
    for (std::size_t i = 0; i < inputs.size(); ++i) set_values(inputs[i], values[i]);
    CLASP_RETURN_IF_ERROR(runner_->compute(graph_.graph(), cancel));
    return read_rows(output);
}

Result<std::vector<float>> VisionSession::fuse(const VisionLayers& layers, const Mix& mix,
                                               const std::atomic<bool>* cancel) {
    CLASP_RETURN_IF_ERROR(graph_.reset());
    ggml_context* context = graph_.ggml();
    std::vector<ggml_tensor*> inputs;
    std::vector<std::span<const float>> values;
    ggml_tensor* sum = nullptr;
    for (const LayerWeight& part : mix) {
        if (part.weight == 0.0) continue;
        const LayerOutput* layer = layers.find(part.layer);
        if (layer == nullptr) {
            return Status(Code::InvalidArgument, "the mix names vision layer " + std::to_string(part.layer) +
                                                     ", which was not encoded");
        }
        ggml_tensor* input =
            ggml_new_tensor_2d(context, GGML_TYPE_F32, static_cast<std::int64_t>(layers.width),
                               static_cast<std::int64_t>(layers.shape.n_projected()));
        ggml_set_input(input);
        inputs.push_back(input);
        values.emplace_back(layer->values);
        ggml_tensor* weighted =
            part.weight == 1.0 ? input : ggml_scale(context, input, static_cast<float>(part.weight));
        sum = sum == nullptr ? weighted : ggml_add(context, sum, weighted);
    }
    if (sum == nullptr) return Status(Code::InvalidArgument, "the mix names no vision layer");
    if (inputs.size() == 1 && sum == inputs[0]) return std::vector<float>(values[0].begin(), values[0].end());
    return run_to(sum, inputs, values, {}, cancel);
}

Result<std::vector<float>> VisionSession::project_rows(std::span<const float> features,
                                                       const PieceShape& shape, Compat compat,
                                                       const std::atomic<bool>* cancel) {
    const VisionInfo& info = model_->info();
    if (shape.merge > 1 && features.size() != shape.n_patches() * info.width) {
        return Status(Code::InvalidArgument, "a projector that merges patches takes all of a piece");
    }
    return run_projector(features, cancel, [&](ggml_tensor* rows) {
        return model_->tower_->build_projector(graph_.ggml(), rows, shape, compat);
    });
}

Result<std::vector<float>> VisionSession::run_projector(
    std::span<const float> rows, const std::atomic<bool>* cancel,
    const std::function<ProjectorGraph(ggml_tensor*)>& build) {
    const VisionInfo& info = model_->info();
    CLASP_RETURN_IF_ERROR(graph_.reset());
    ggml_tensor* input =
        ggml_new_tensor_2d(graph_.ggml(), GGML_TYPE_F32, static_cast<std::int64_t>(info.width),
                           static_cast<std::int64_t>(rows.size() / info.width));
    ggml_set_input(input);
    const ProjectorGraph graph = build(input);
    CLASP_ASSIGN_OR_RETURN(std::vector<float> tokens, run_to(graph.tokens, std::span(&input, 1),
                                                             std::span(&rows, 1), graph.inputs, cancel));
    CLASP_RETURN_IF_ERROR(check_finite(tokens, info.output_width));
    return tokens;
}

Result<std::vector<float>> VisionSession::project_branches(const VisionLayers& layers,
                                                           const std::atomic<bool>* cancel) {
    const VisionInfo& info = model_->info();
    const std::size_t n_branches = info.branch_layers.size();
    const std::size_t width = info.output_width;
    std::vector<float> all(layers.shape.n_tokens() * n_branches * width);
    for (std::size_t branch = 0; branch < n_branches; ++branch) {
        const LayerOutput* layer = layers.find(info.branch_layers[branch]);
        if (layer == nullptr) {
            return Status(Code::InvalidArgument, "the decoder wants vision layer " +
                                                     std::to_string(info.branch_layers[branch]) +
                                                     ", which was not encoded");
        }
        CLASP_ASSIGN_OR_RETURN(const std::vector<float> rows,
                               run_projector(layer->values, cancel, [&](ggml_tensor* input) {
                                   return model_->tower_->build_branch(graph_.ggml(), input, branch,
                                                                       layers.shape, layers.compat);
                               }));
        for (std::size_t token = 0; token < rows.size() / width; ++token) {
            std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(token * width), width,
                        all.begin() + static_cast<std::ptrdiff_t>((token * n_branches + branch) * width));
        }
    }
    return all;
}

Result<std::vector<float>> VisionSession::gram(std::span<const float> tokens,
                                               const std::atomic<bool>* cancel) {
    const std::size_t width = model_->info().output_width;
    CLASP_RETURN_IF_ERROR(graph_.reset());
    ggml_tensor* input = ggml_new_tensor_2d(graph_.ggml(), GGML_TYPE_F32, static_cast<std::int64_t>(width),
                                            static_cast<std::int64_t>(tokens.size() / width));
    ggml_set_input(input);
    // The bound only keeps a zero vector at zero instead of dividing by its length.
    ggml_tensor* unit = ggml_l2_norm(graph_.ggml(), input, 1e-30F);
    return run_to(ggml_mul_mat(graph_.ggml(), unit, unit), std::span(&input, 1), std::span(&tokens, 1), {},
                  cancel);
}

Result<VisionTokens> VisionSession::project(const VisionLayers& layers, const Mix& mix,
                                            const ProjectOptions& options, const std::atomic<bool>* cancel) {
    const VisionInfo& info = model_->info();
    const std::size_t n_values = layers.shape.n_projected() * info.width;
    const bool fits = layers.width == info.width && layers.shape.merge == info.capabilities.merge &&
                      std::all_of(layers.layers.begin(), layers.layers.end(),
                                  [&](const LayerOutput& layer) { return layer.values.size() == n_values; });
    if (!fits) {
        return Status(Code::InvalidArgument, "the encoded layers do not belong to this vision tower");
    }
    VisionTokens tokens;
    tokens.grid = layers.shape.tokens();
    tokens.width = info.output_width;
    Stopwatch stopwatch;
    CLASP_ASSIGN_OR_RETURN(const std::vector<float> fused, fuse(layers, mix, cancel));
    tokens.fuse_ms = stopwatch.lap_ms();
    CLASP_ASSIGN_OR_RETURN(tokens.values, project_rows(fused, layers.shape, layers.compat, cancel));
    tokens.project_ms = stopwatch.lap_ms();
    if (options.gram) {
        CLASP_ASSIGN_OR_RETURN(tokens.gram, gram(tokens.values, cancel));
        tokens.gram_ms = stopwatch.lap_ms();
    }
    return tokens;
}

std::vector<std::size_t> layers_of(const Mix& mix) {
    std::vector<std::size_t> layers;
    for (const LayerWeight& part : mix) {
        if (part.weight != 0.0) layers.push_back(part.layer);
    }
    std::sort(layers.begin(), layers.end());
    return layers;
}

std::vector<std::size_t> layers_of(const Mix& mix, const VisionInfo& info) {
    std::vector<std::size_t> layers = layers_of(mix);
    layers.insert(layers.end(), info.branch_layers.begin(), info.branch_layers.end());
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
}

}  // namespace clasp::model
