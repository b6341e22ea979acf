#include "engine/extend_run.h"

#include "base/check.h"
#include "engine/logit_rows.h"
#include "engine/prefill.h"
#include "engine/token_rows.h"

namespace clasp::engine {

ExtendRun::ExtendRun(Workspace& workspace, Sequence& sequence, std::vector<std::int32_t> tokens,
                     std::size_t batch_rows)
    : workspace_(workspace),
      sequence_(sequence),
      tokens_(std::move(tokens)),
      batch_rows_(batch_rows),
      n_before_(sequence.tokens().size()) {}

ExtendRun::~ExtendRun() {
    // Text can always be cut off where a prompt stays.
    if (!is_done()) CLASP_CHECK(sequence_.cut_back(n_before_).ok());
}

Status ExtendRun::advance(std::size_t n_layers, const std::atomic<bool>* cancel) {
    const std::size_t n_blocks = workspace_.model().weights().blocks.size();
    while (!is_done() && n_layers > 0) {
        const std::size_t n = std::min(n_layers, n_blocks - next_);
        CLASP_RETURN_IF_ERROR(run_blocks(next_ + n, cancel));
        n_layers -= n;
    }
    return ok_status();
}

double ExtendRun::share_done() const {
    const auto n_blocks = static_cast<double>(workspace_.model().weights().blocks.size());
    const double under_way = static_cast<double>(n_under_way()) * static_cast<double>(next_) / n_blocks;
    return (static_cast<double>(n_done_) + under_way) / static_cast<double>(tokens_.size());
}

Status ExtendRun::run_blocks(std::size_t last, const std::atomic<bool>* cancel) {
    const std::size_t n = n_under_way();
    const TokenRun run = {&sequence_, std::span(tokens_).subspan(n_done_, n)};
    const bool is_whole = last == workspace_.model().weights().blocks.size();
    if (next_ == 0 && !is_whole) {
        const PromptPart part = {.tokens = run.tokens};
        CLASP_ASSIGN_OR_RETURN(hidden_, HiddenRows::embed(workspace_, std::span(&part, 1), cancel));
    }
    CLASP_ASSIGN_OR_RETURN(model::DecoderGraph graph, workspace_.start());
    graph.rope_factors = sequence_.rope_factors();
    GraphInputs inputs(graph);
    ggml_tensor* entering =
        hidden_ ? hidden_->view(graph, 0, n) : model::build_embedding(graph, inputs.integers(run.tokens));
    ggml_tensor* hidden = build_token_blocks(graph, inputs, entering, std::span(&run, 1), next_, last);
    ggml_tensor* logits = nullptr;
    if (is_whole) {
        logits = model::build_head(graph, hidden);
        ggml_set_output(logits);
    }
    ggml_build_forward_expand(
        graph.graph, is_whole ? logits : ggml_cpy(graph.context, hidden, hidden_->view(graph, 0, n)));
    CLASP_RETURN_IF_ERROR(workspace_.run(graph, inputs, cancel));
    if (!is_whole) {
        next_ = last;
        return ok_status();
    }
    CLASP_RETURN_IF_ERROR(read_logits(logits, logits_));
    sequence_.append(run.tokens);
    hidden_.reset();
    next_ = 0;
    n_done_ += n;
    return ok_status();
}

}  // namespace clasp::engine
