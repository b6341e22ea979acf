#include "engine/block_runner.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "ggml-alloc.h"

namespace clasp::engine {
namespace {

template <typename T>
void set_input(ggml_tensor* tensor, const std::vector<T>& values) {
    CLASP_CHECK(ggml_nbytes(tensor) == values.size() * sizeof(T));
    ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
}

ggml_tensor* new_input(ggml_context* context, ggml_type type, std::size_t n0, std::size_t n1 = 1) {
    ggml_tensor* tensor =
        ggml_new_tensor_2d(context, type, static_cast<std::int64_t>(n0), static_cast<std::int64_t>(n1));
    ggml_set_input(tensor);
    return tensor;
}

std::vector<float> read_floats(const ggml_tensor* tensor) {
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    return values;
}

std::vector<std::int32_t> positions_of(std::span<const LiveRow> rows) {
    std::vector<std::int32_t> positions;
    positions.reserve(rows.size());
    for (const LiveRow& row : rows) positions.push_back(row.position);
    return positions;
}

// Adds more queries to a table of heads x queries x columns.
void append_queries(const std::vector<float>& more, std::size_t n_columns, std::size_t n_heads,
                    std::vector<float>& table) {
    const std::size_t old_part = table.size() / n_heads;
    const std::size_t new_part = more.size() / n_heads;
    CLASP_CHECK(old_part % n_columns == 0 && new_part % n_columns == 0);
    std::vector<float> joined;
    joined.reserve(table.size() + more.size());
    for (std::size_t head = 0; head < n_heads; ++head) {
        const auto add = [&](const std::vector<float>& from, std::size_t part) {
            const auto begin = from.begin() + static_cast<std::ptrdiff_t>(head * part);
            joined.insert(joined.end(), begin, begin + static_cast<std::ptrdiff_t>(part));
        };
        add(table, old_part);
        add(more, new_part);
    }
    table = std::move(joined);
}

bool has_bias(std::span<const float> key_bias) {
    return std::any_of(key_bias.begin(), key_bias.end(), [](float bias) { return bias != 0.0F; });
}

}  // namespace

// Rows between two graphs, on the device where the model's weights are.
struct BlockRunner::HiddenRows {
    ggml_context* context = nullptr;
    ggml_backend_buffer_t buffer = nullptr;
    ggml_tensor* tensor = nullptr;  // [width, capacity] F32
    std::size_t n_rows = 0;

    HiddenRows() = default;
    ~HiddenRows() {
        if (buffer != nullptr) ggml_backend_buffer_free(buffer);
        if (context != nullptr) ggml_free(context);
    }
    HiddenRows(const HiddenRows&) = delete;
    HiddenRows& operator=(const HiddenRows&) = delete;

    static Result<std::unique_ptr<HiddenRows>> create(const model::TextModel& model, std::size_t n_rows) {
        auto result = std::make_unique<HiddenRows>();
        result->context =
            ggml_init({.mem_size = ggml_tensor_overhead(), .mem_buffer = nullptr, .no_alloc = true});
        if (result->context != nullptr) {
            result->tensor = ggml_new_tensor_2d(result->context, GGML_TYPE_F32, model.config().width,
                                                static_cast<std::int64_t>(n_rows));
            result->buffer = ggml_backend_alloc_ctx_tensors_from_buft(
                result->context, ggml_backend_dev_buffer_type(model.compute()->device()));
        }
        if (result->buffer == nullptr) {
            return Status(Code::OutOfMemory,
                          "no memory for the hidden states of " + std::to_string(n_rows) + " tokens");
        }
        result->n_rows = n_rows;
        return result;
    }
};

Result<std::unique_ptr<BlockRunner>> BlockRunner::create(std::shared_ptr<const model::TextModel> model,
                                                         const DecoderOptions& options) {
    if (options.kv_type != GGML_TYPE_F16 && options.kv_type != GGML_TYPE_F32) {
        return Status(Code::InvalidArgument, std::string("keys and values cannot be stored as ") +
                                                 ggml_type_name(options.kv_type) + ", only as f16 or f32");
    }
    if (options.batch_rows < 1) return Status(Code::InvalidArgument, "a batch needs at least one row");
    const std::size_t max_nodes = model::kTensorsPerBlock * (model->weights().blocks.size() + 2);
    CLASP_ASSIGN_OR_RETURN(auto graph, model::GraphContext::create(max_nodes));
    CLASP_ASSIGN_OR_RETURN(auto runner, model::GraphRunner::create(model->compute(), max_nodes));
    return std::unique_ptr<BlockRunner>(
        new BlockRunner(std::move(model), options, std::move(graph), std::move(runner)));
}

BlockRunner::BlockRunner(std::shared_ptr<const model::TextModel> model, const DecoderOptions& options,
                         model::GraphContext graph, std::unique_ptr<model::GraphRunner> runner)
    : model_(std::move(model)),
      options_(options),
      graph_(std::move(graph)),
      runner_(std::move(runner)),
      kv_(*model_, options.kv_type) {}

BlockRunner::~BlockRunner() = default;

void BlockRunner::clear() {
    hidden_.reset();
    kv_.clear();
    groups_.clear();
    logits_.clear();
}

Result<model::DecoderGraph> BlockRunner::start_graph() {
    CLASP_RETURN_IF_ERROR(graph_.reset());
    return model::DecoderGraph{graph_.ggml(), graph_.graph(), &model_->config(), &model_->weights()};
}

ggml_tensor* BlockRunner::hidden_view(const model::DecoderGraph& graph, std::size_t first,
                                      std::size_t n) const {
    ggml_tensor* all = hidden_->tensor;
    return ggml_view_2d(graph.context, all, all->ne[0], static_cast<std::int64_t>(n), all->nb[1],
                        first * all->nb[1]);
}

Status BlockRunner::embed(std::span<const PromptPart> parts) {
    const auto width = static_cast<std::size_t>(model_->config().width);
    const auto rows_of = [&](const PromptPart& part) {
        return part.tokens.empty() ? part.embeddings.size() / width : part.tokens.size();
    };
    std::size_t n_rows = 0;
    for (const PromptPart& part : parts) n_rows += rows_of(part);
    CLASP_ASSIGN_OR_RETURN(hidden_, HiddenRows::create(*model_, n_rows));
    std::size_t row = 0;
    for (const PromptPart& part : parts) {
        if (part.tokens.empty()) {
            ggml_backend_tensor_set(hidden_->tensor, part.embeddings.data(), row * width * sizeof(float),
                                    part.embeddings.size_bytes());
        } else {
            CLASP_RETURN_IF_ERROR(embed_tokens(part.tokens, row));
        }
        row += rows_of(part);
    }
    return ok_status();
}

Status BlockRunner::embed_tokens(std::span<const std::int32_t> tokens, std::size_t first_row) {
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, start_graph());
    ggml_tensor* ids = new_input(graph.context, GGML_TYPE_I32, tokens.size());
    ggml_tensor* looked_up = ggml_get_rows(graph.context, model_->weights().token_embedding, ids);
    ggml_build_forward_expand(
        graph.graph, ggml_cpy(graph.context, looked_up, hidden_view(graph, first_row, tokens.size())));
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    set_input(ids, std::vector<std::int32_t>(tokens.begin(), tokens.end()));
    return runner_->compute(graph.graph, cancel_);
}

Status BlockRunner::run(std::size_t first, std::size_t last, std::span<const LiveRow> rows,
                        std::int64_t room) {
    CLASP_CHECK(rows.size() == hidden_->n_rows && first < last);
    LayerGroup group{first, last, key_biases(rows), rows.back().position + 1};
    CLASP_RETURN_IF_ERROR(kv_.allocate(first, last, static_cast<std::int64_t>(rows.size()) + room));
    const auto batch = static_cast<std::size_t>(options_.batch_rows);
    for (std::size_t begin = 0; begin < rows.size(); begin += batch) {
        CLASP_RETURN_IF_ERROR(
            run_piece(group, rows, group.key_bias, begin, std::min(begin + batch, rows.size())));
    }
    if (!has_bias(group.key_bias)) group.key_bias.clear();
    groups_.push_back(std::move(group));
    return ok_status();
}

Status BlockRunner::run_piece(const LayerGroup& group, std::span<const LiveRow> rows,
                              std::span<const float> key_bias, std::size_t begin, std::size_t end) {
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, start_graph());
    const std::size_t n = end - begin;
    const bool reaches_head = group.last == model_->weights().blocks.size();
    const bool has_last_row = end == rows.size();
    ggml_tensor* hidden = hidden_view(graph, begin, n);
    ggml_tensor* positions = new_input(graph.context, GGML_TYPE_I32, n);
    ggml_tensor* mask = new_input(graph.context, GGML_TYPE_F16, end, n);
    bool reads_mask = false;
    for (std::size_t layer = group.first; layer < group.last; ++layer) {
        const bool is_last = layer + 1 == model_->weights().blocks.size();
        const std::size_t n_out = is_last ? (has_last_row ? 1 : 0) : n;
        const KvLayer& kv = kv_.layer(layer);
        hidden = model::build_block(graph, layer,
                                    {.hidden = hidden,
                                     .positions = positions,
                                     .mask = mask,
                                     .keys = kv.keys,
                                     .values = kv.values,
                                     .n_past = static_cast<std::int64_t>(begin),
                                     .n_out = static_cast<std::int64_t>(n_out)});
        reads_mask = reads_mask || n_out > 0;
    }
    ggml_tensor* logits = nullptr;
    if (!reaches_head) {
        ggml_build_forward_expand(graph.graph, ggml_cpy(graph.context, hidden, hidden_view(graph, begin, n)));
    } else if (has_last_row) {
        logits = model::build_head(graph, hidden);
        ggml_set_output(logits);
        ggml_build_forward_expand(graph.graph, logits);
    }
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    set_input(positions, positions_of(rows.subspan(begin, n)));
    if (reads_mask) set_input(mask, causal_mask(key_bias, begin, n));
    CLASP_RETURN_IF_ERROR(runner_->compute(graph.graph, cancel_));
    for (std::size_t layer = group.first; layer < group.last; ++layer) {
        kv_.layer(layer).used = static_cast<std::int64_t>(end);
    }
    return logits != nullptr ? read_logits(logits) : ok_status();
}

Status BlockRunner::probe(const ProbeRequest& request, std::span<const LiveRow> rows, ProbeValues& values) {
    // The probabilities of one group of queries, all heads, take at most 256 MiB.
    constexpr std::size_t kMaxEntries = std::size_t{1} << 26;
    const auto n_heads = static_cast<std::size_t>(model_->config().n_heads);
    const std::size_t per_query = rows.size() * n_heads;
    const std::size_t group = std::max<std::size_t>(1, kMaxEntries / per_query);
    const std::size_t m = request.queries.size();
    ProbeRequest part = request;
    values = {};
    for (std::size_t begin = 0; begin == 0 || begin < m; begin += group) {
        const std::size_t n = std::min(group, m - begin);
        ProbeValues seen;
        CLASP_RETURN_IF_ERROR(probe_group(part, request.queries.subspan(begin, n), rows, seen));
        part.key_norms = false;
        if (begin == 0) {
            values = std::move(seen);
            if (n < m) {
                for (float& mean : values.mean) mean *= static_cast<float>(n) / static_cast<float>(m);
            }
            continue;
        }
        values.rows.insert(values.rows.end(), seen.rows.begin(), seen.rows.end());
        append_queries(seen.rotation_bias, rows.size(), 1, values.rotation_bias);
        append_queries(seen.heads, rows.size(), n_heads, values.heads);
        for (std::size_t i = 0; i < seen.mean.size(); ++i) {
            values.mean[i] += seen.mean[i] * (static_cast<float>(n) / static_cast<float>(m));
        }
    }
    return ok_status();
}

Status BlockRunner::probe_group(const ProbeRequest& request, std::span<const std::int32_t> queries,
                                std::span<const LiveRow> rows, ProbeValues& values) {
    CLASP_CHECK(rows.size() == hidden_->n_rows);
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, start_graph());
    const std::size_t n = rows.size();
    const std::size_t m = queries.size();
    const bool asks = (request.mean || request.rows || request.heads) && m > 0;
    model::ProbeInput input = {.hidden = hidden_view(graph, 0, n),
                               .positions = new_input(graph.context, GGML_TYPE_I32, n),
                               .wants_mean = request.mean && asks,
                               .wants_rows = request.rows && asks,
                               .rows_are_logits = request.rows_are_logits,
                               .wants_heads = request.heads && asks,
                               .wants_key_norms = request.key_norms};
    if (!asks && !request.key_norms) return ok_status();
    if (asks) {
        input.query_rows = new_input(graph.context, GGML_TYPE_I32, m);
        input.query_positions = new_input(graph.context, GGML_TYPE_I32, m);
        input.mask = new_input(graph.context, GGML_TYPE_F32, n, m);
    }
    const auto head_width = static_cast<std::size_t>(model_->config().head_width);
    if (input.wants_heads) input.ones = new_input(graph.context, GGML_TYPE_F32, head_width);
    const model::ProbeOutput output = model::build_probe(graph, request.layer, input);
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    set_input(input.positions, positions_of(rows));
    if (asks) {
        std::vector<std::int32_t> query_positions;
        std::vector<float> mask(n * m, -INFINITY);
        for (std::size_t i = 0; i < m; ++i) {
            const auto row = static_cast<std::size_t>(queries[i]);
            query_positions.push_back(rows[row].position);
            std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(i * n), row + 1, 0.0F);
        }
        set_input(input.query_rows, std::vector<std::int32_t>(queries.begin(), queries.end()));
        set_input(input.query_positions, query_positions);
        set_input(input.mask, mask);
    }
    if (input.wants_heads) set_input(input.ones, std::vector<float>(head_width, 1.0F));
    CLASP_RETURN_IF_ERROR(runner_->compute(graph.graph, cancel_));
    if (output.mean != nullptr) values.mean = read_floats(output.mean);
    if (output.rows != nullptr) values.rows = read_floats(output.rows);
    if (output.heads != nullptr) values.heads = read_floats(output.heads);
    if (output.rotation_bias != nullptr) values.rotation_bias = read_floats(output.rotation_bias);
    if (output.key_norms != nullptr) values.key_norms = read_floats(output.key_norms);
    return ok_status();
}

std::vector<float> BlockRunner::hidden(std::span<const std::int32_t> rows) const {
    const auto width = static_cast<std::size_t>(model_->config().width);
    std::vector<float> values(rows.size() * width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        ggml_backend_tensor_get(hidden_->tensor, values.data() + i * width,
                                static_cast<std::size_t>(rows[i]) * width * sizeof(float),
                                width * sizeof(float));
    }
    return values;
}

Result<std::vector<float>> BlockRunner::normed_hidden(std::span<const std::int32_t> rows) {
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, start_graph());
    ggml_tensor* index = new_input(graph.context, GGML_TYPE_I32, rows.size());
    ggml_tensor* normed = model::build_final_norm(graph, hidden_view(graph, 0, hidden_->n_rows), index);
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    set_input(index, std::vector<std::int32_t>(rows.begin(), rows.end()));
    CLASP_RETURN_IF_ERROR(runner_->compute(graph.graph, cancel_));
    return read_floats(normed);
}

void BlockRunner::set_hidden(std::size_t row, std::span<const float> values) {
    CLASP_CHECK(row < hidden_->n_rows && values.size() == static_cast<std::size_t>(hidden_->tensor->ne[0]));
    ggml_backend_tensor_set(hidden_->tensor, values.data(), row * values.size_bytes(), values.size_bytes());
}

Status BlockRunner::gather(std::span<const std::int32_t> rows) {
    bool is_same = rows.size() == hidden_->n_rows;
    for (std::size_t i = 0; is_same && i < rows.size(); ++i)
        is_same = rows[i] == static_cast<std::int32_t>(i);
    if (is_same) return ok_status();
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, start_graph());
    ggml_tensor* index = new_input(graph.context, GGML_TYPE_I32, rows.size());
    ggml_tensor* gathered = ggml_get_rows(graph.context, hidden_view(graph, 0, hidden_->n_rows), index);
    ggml_build_forward_expand(graph.graph,
                              ggml_cpy(graph.context, gathered, hidden_view(graph, 0, rows.size())));
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    set_input(index, std::vector<std::int32_t>(rows.begin(), rows.end()));
    CLASP_RETURN_IF_ERROR(runner_->compute(graph.graph, cancel_));
    hidden_->n_rows = rows.size();
    return ok_status();
}

Status BlockRunner::decode(std::int32_t token) {
    hidden_.reset();
    CLASP_ASSIGN_OR_RETURN(const model::DecoderGraph graph, start_graph());
    ggml_tensor* id = new_input(graph.context, GGML_TYPE_I32, 1);
    ggml_tensor* hidden = ggml_get_rows(graph.context, model_->weights().token_embedding, id);
    std::vector<ggml_tensor*> positions;
    std::vector<ggml_tensor*> masks;
    for (const LayerGroup& group : groups_) {
        const std::int64_t n_past = kv_.layer(group.first).used;
        CLASP_CHECK(n_past < kv_.layer(group.first).capacity);
        ggml_tensor* mask = nullptr;
        if (!group.key_bias.empty()) {
            mask = new_input(graph.context, GGML_TYPE_F16, static_cast<std::size_t>(n_past) + 1);
        }
        masks.push_back(mask);
        positions.push_back(new_input(graph.context, GGML_TYPE_I32, 1));
        for (std::size_t layer = group.first; layer < group.last; ++layer) {
            const KvLayer& kv = kv_.layer(layer);
            hidden = model::build_block(graph, layer,
                                        {.hidden = hidden,
                                         .positions = positions.back(),
                                         .mask = mask,
                                         .keys = kv.keys,
                                         .values = kv.values,
                                         .n_past = n_past,
                                         .n_out = 1});
        }
    }
    ggml_tensor* logits = model::build_head(graph, hidden);
    ggml_set_output(logits);
    ggml_build_forward_expand(graph.graph, logits);
    CLASP_RETURN_IF_ERROR(runner_->allocate(graph.graph));
    set_input(id, std::vector<std::int32_t>{token});
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        set_input(positions[i], std::vector<std::int32_t>{groups_[i].next_position});
        if (masks[i] == nullptr) continue;
        std::vector<float> bias = groups_[i].key_bias;
        bias.resize(static_cast<std::size_t>(masks[i]->ne[0]), 0.0F);
        set_input(masks[i], causal_mask(bias, bias.size() - 1, 1));
    }
    CLASP_RETURN_IF_ERROR(runner_->compute(graph.graph, cancel_));
    CLASP_RETURN_IF_ERROR(read_logits(logits));
    for (LayerGroup& group : groups_) ++group.next_position;
    for (std::size_t layer = 0; layer < model_->weights().blocks.size(); ++layer) ++kv_.layer(layer).used;
    return ok_status();
}

Status BlockRunner::read_logits(const ggml_tensor* tensor) {
    logits_.resize(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, logits_.data(), 0, ggml_nbytes(tensor));
    const auto bad = std::find_if(logits_.begin(), logits_.end(), [](float x) { return !std::isfinite(x); });
    if (bad != logits_.end()) {
        return {Code::Corrupt, "the model's logit of token " + std::to_string(bad - logits_.begin()) +
                                   " is not a number; its weights may be damaged"};
    }
    return ok_status();
}

}  // namespace clasp::engine
