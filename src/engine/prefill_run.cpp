#include "engine/prefill_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/stopwatch.h"
#include "engine/logit_rows.h"
#include "engine/prefill_check.h"

namespace clasp::engine {
namespace {

std::vector<std::int32_t> tokens_of(std::span<const PromptPart> parts, std::size_t width) {
    std::vector<std::int32_t> tokens;
    for (const PromptPart& part : parts) {
        tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
        tokens.insert(tokens.end(), part.embeddings.size() / width, kVisualToken);
    }
    return tokens;
}

std::vector<const float*> additions_of(std::span<const PromptPart> parts, const model::TextConfig& config) {
    const auto width = static_cast<std::size_t>(config.width);
    std::vector<const float*> rows;
    for (const PromptPart& part : parts) {
        const std::size_t n = part.tokens.empty() ? part.embeddings.size() / width : part.tokens.size();
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t first = i * static_cast<std::size_t>(config.n_deepstack) * width;
            rows.push_back(part.additions.empty() ? nullptr : part.additions.data() + first);
        }
    }
    return rows;
}

}  // namespace

Result<std::unique_ptr<PrefillRun>> PrefillRun::start(Workspace& workspace, Sequence& sequence,
                                                      PrefillRequest request, std::size_t batch_rows) {
    const base::Stopwatch watch;
    sequence.clear();
    const model::TextConfig& config = workspace.model().config();
    if (&sequence.model() != &workspace.model()) {
        return Status(Code::InvalidArgument, "the sequence belongs to another model");
    }
    CLASP_RETURN_IF_ERROR(check_parts(request.parts, config));
    std::vector<LiveRow> rows = rows_of_parts(request, static_cast<std::size_t>(config.width));
    CLASP_RETURN_IF_ERROR(check_prompt(request, rows, config));
    sequence.begin_prompt(std::int64_t{model::next_position(positions_of(rows), config.rope)} + request.room);
    CLASP_ASSIGN_OR_RETURN(HiddenRows hidden, HiddenRows::embed(workspace, request.parts, request.cancel));
    std::unique_ptr<PrefillRun> run(new PrefillRun(workspace, sequence, std::move(request), batch_rows,
                                                   std::move(rows), std::move(hidden)));
    run->find_starts();
    run->result_.prefill_ms = watch.elapsed_ms();
    return run;
}

PrefillRun::PrefillRun(Workspace& workspace, Sequence& sequence, PrefillRequest request,
                       std::size_t batch_rows, std::vector<LiveRow> rows, HiddenRows hidden)
    : workspace_(workspace),
      sequence_(sequence),
      request_(std::move(request)),
      batch_rows_(batch_rows),
      live_(std::move(rows)),
      hidden_(std::move(hidden)),
      tokens_(tokens_of(request_.parts, static_cast<std::size_t>(workspace.model().config().width))),
      additions_(additions_of(request_.parts, workspace.model().config())) {}

PrefillRun::~PrefillRun() {
    if (!is_done()) sequence_.clear();
}

PrefillResult PrefillRun::take_result() {
    CLASP_CHECK(is_done());
    return std::move(result_);
}

Status PrefillRun::advance(std::size_t n_layers) {
    if (phase_ == Phase::Failed) return {Code::InvalidArgument, "the prompt failed before"};
    if (phase_ == Phase::Done) return ok_status();
    const base::Stopwatch watch;
    const double select_before = result_.select_ms;
    const std::size_t n_blocks = workspace_.model().weights().blocks.size();
    Status status = run_until(next_ + std::min(n_layers, n_blocks - next_));
    if (!status.ok()) {
        phase_ = Phase::Failed;
        sequence_.clear();
        return status;
    }
    if (next_ == n_blocks) finish();
    result_.prefill_ms += watch.elapsed_ms() - (result_.select_ms - select_before);
    return ok_status();
}

Status PrefillRun::run_until(std::size_t last) {
    while (next_ < last) {
        arrive();
        if (stage_here() != nullptr) CLASP_RETURN_IF_ERROR(run_stage());
        if (stage_here() == nullptr && next_ < last) {
            CLASP_RETURN_IF_ERROR(run_blocks(std::min(last, segment_end())));
        }
    }
    return ok_status();
}

const PrefillStage* PrefillRun::stage_here() const {
    if (next_stage_ == request_.stages.size()) return nullptr;
    const PrefillStage& stage = request_.stages[next_stage_];
    return static_cast<std::size_t>(stage.layer) == next_ ? &stage : nullptr;
}

std::size_t PrefillRun::segment_end() const {
    if (stage_here() != nullptr) return next_ + 1;
    if (next_stage_ == request_.stages.size()) return workspace_.model().weights().blocks.size();
    return static_cast<std::size_t>(request_.stages[next_stage_].layer);
}

Status PrefillRun::run_stage() {
    const PrefillStage& stage = *stage_here();
    StageView view;
    base::Stopwatch watch;
    CLASP_RETURN_IF_ERROR(look_at_block(stage, view));
    result_.probe_ms += watch.elapsed_ms();
    if (stage.mode == StageMode::After) CLASP_RETURN_IF_ERROR(run_blocks(segment_end()));
    watch = {};
    CLASP_RETURN_IF_ERROR(look_at_hidden(stage.needs, view));
    result_.probe_ms += watch.elapsed_ms();
    CLASP_ASSIGN_OR_RETURN(const StageChoice choice, choose(stage, view));
    CLASP_RETURN_IF_ERROR(drop(choice, stage.layer));
    ++next_stage_;
    return ok_status();
}

// Blocks next_ ... last - 1 over all rows held. The last block of the model computes no more than the logits
// of the last row need.
Status PrefillRun::run_blocks(std::size_t last) {
    arrive();  // a stage may have run blocks since the run came here
    const auto groups = sequence_.groups();
    if (groups.empty() || groups.back().last == next_) {
        CLASP_RETURN_IF_ERROR(sequence_.add_layers(next_, segment_end(), live_.rows(), request_.room));
        fill_layers(segment_end());
    }
    const bool sees_both_ways = workspace_.model().config().family->images_see_both_ways;
    const std::size_t n_known = known() != nullptr ? known()->n_rows : 0;
    for (std::size_t begin = 0; begin < live_.size();) {
        const std::size_t end = piece_end(live_.rows(), begin, batch_rows_, sees_both_ways);
        // Known rows take part where a piece would be too small without them.
        const std::size_t least = end - std::min<std::size_t>(end, model::kPreciseQueries);
        const std::size_t first = std::max(begin, std::min(n_known, least));
        if (end > n_known) CLASP_RETURN_IF_ERROR(run_piece(last, first, end));
        begin = end;
    }
    result_.rows_per_layer.resize(last, static_cast<std::int32_t>(live_.size()));
    result_.visual_per_layer.resize(last, static_cast<std::int32_t>(live_.visual().size()));
    result_.fixed_per_layer.resize(last, static_cast<std::int32_t>(live_.n_fixed()));
    next_ = last;
    return ok_status();
}

ggml_tensor* PrefillRun::additions(GraphInputs& inputs, std::size_t layer, std::size_t begin,
                                   std::size_t end) const {
    const model::TextConfig& config = workspace_.model().config();
    if (layer >= static_cast<std::size_t>(config.n_deepstack)) return nullptr;
    const auto width = static_cast<std::size_t>(config.width);
    std::vector<float> rows((end - begin) * width, 0.0F);
    bool is_used = false;
    for (std::size_t row = begin; row < end; ++row) {
        const auto token = static_cast<std::size_t>(live_.rows()[row].sequence_index);
        if (additions_[token] == nullptr) continue;
        std::copy_n(additions_[token] + layer * width, width,
                    rows.begin() + static_cast<std::ptrdiff_t>((row - begin) * width));
        is_used = true;
    }
    return is_used ? inputs.floats(rows, width, end - begin) : nullptr;
}

Status PrefillRun::run_piece(std::size_t last, std::size_t begin, std::size_t end) {
    CLASP_ASSIGN_OR_RETURN(model::DecoderGraph graph, workspace_.start());
    graph.rope_factors = sequence_.rope_factors();
    const std::size_t n = end - begin;
    const std::size_t n_blocks = graph.weights->blocks.size();
    const bool has_last_row = end == live_.size();
    GraphInputs inputs(graph);
    ggml_tensor* hidden = hidden_.view(graph, begin, n);
    ggml_tensor* positions = inputs.positions(positions_of(live_.rows().subspan(begin, n)));
    LayerMasks masks(mask_rows(live_.rows().subspan(0, end)), n);
    for (std::size_t layer = next_; layer < last; ++layer) {
        const bool is_last = layer + 1 == n_blocks;
        const std::size_t n_out = is_last ? (has_last_row ? 1 : 0) : n;
        const KvLayer& kv = sequence_.kv().layer(layer);
        const model::CachedRows rows = {.n = static_cast<std::int64_t>(n),
                                        .mask = n_out > 0 ? masks.get(inputs, *graph.config, layer) : nullptr,
                                        .keys = kv.keys,
                                        .values = kv.values,
                                        .n_past = static_cast<std::int64_t>(begin)};
        hidden = model::build_block(graph, layer,
                                    {.hidden = hidden,
                                     .positions = positions,
                                     .sequences = std::span(&rows, 1),
                                     .n_out = static_cast<std::int64_t>(n_out)});
        ggml_tensor* more = additions(inputs, layer, begin, end);
        if (more != nullptr) hidden = ggml_add(graph.context, hidden, more);
        if (begin == 0 && !is_last) watch_prefix(graph, layer, hidden);
    }
    ggml_tensor* logits = nullptr;
    if (last < n_blocks) {
        ggml_build_forward_expand(graph.graph,
                                  ggml_cpy(graph.context, hidden, hidden_.view(graph, begin, n)));
    } else if (has_last_row) {
        logits = model::build_head(graph, hidden);
        ggml_set_output(logits);
        ggml_build_forward_expand(graph.graph, logits);
    }
    model::GraphProgress progress;
    if (request_.on_layers) {
        progress = [&](double share) {
            const double rows_done = static_cast<double>(begin) + share * static_cast<double>(n);
            request_.on_layers(static_cast<double>(next_) + static_cast<double>(last - next_) * rows_done /
                                                                static_cast<double>(live_.size()));
        };
    }
    CLASP_RETURN_IF_ERROR(workspace_.run(graph, inputs, request_.cancel, progress));
    read_prefix();
    sequence_.set_held(next_, last, end);
    return logits != nullptr ? read_logits(logits, result_.logits) : ok_status();
}

void PrefillRun::finish() {
    arrive();
    keep_prefix();
    sequence_.finish_prompt(std::move(tokens_));
    result_.kv_bytes = sequence_.kv_bytes();
    phase_ = Phase::Done;
}

}  // namespace clasp::engine
