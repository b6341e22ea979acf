// One token each of several sequences that have their prompts, in one graph.
#include <set>
#include <string>

#include "engine/executor.h"
#include "engine/graph_inputs.h"
#include "engine/token_rows.h"

namespace clasp::engine {
namespace {

std::string name_of(std::size_t i, std::size_t n) {
    return n == 1 ? std::string() : " in sequence " + std::to_string(i) + " of the step";
}

}  // namespace

Status Executor::check(std::span<const TokenRun> runs) const {
    if (runs.empty()) return {Code::InvalidArgument, "a step needs at least one sequence"};
    const std::int32_t vocabulary = model().config().vocabulary;
    std::set<const Sequence*> seen;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Sequence& sequence = *runs[i].sequence;
        const std::string whose = name_of(i, runs.size());
        if (&sequence.model() != &model()) {
            return {Code::InvalidArgument, "the tokens" + whose + " belong to another model"};
        }
        if (!seen.insert(&sequence).second) {
            return {Code::InvalidArgument, "a sequence is twice in one step"};
        }
        if (sequence.is_empty()) {
            return {Code::InvalidArgument, "nothing to continue" + whose + ": there was no prompt"};
        }
        if (runs[i].tokens.empty()) return {Code::InvalidArgument, "there are no tokens to run" + whose};
        for (const std::int32_t token : runs[i].tokens) {
            if (token < 0 || token >= vocabulary) {
                return {Code::InvalidArgument, "token " + std::to_string(token) + whose +
                                                   " is outside the vocabulary of " +
                                                   std::to_string(vocabulary)};
            }
        }
        if (static_cast<std::int64_t>(runs[i].tokens.size()) > sequence.room()) {
            return {Code::TooLarge, "no room for " + std::to_string(runs[i].tokens.size()) +
                                        " tokens after position " +
                                        std::to_string(sequence.next_position() - 1) + whose + ", but for " +
                                        std::to_string(sequence.room())};
        }
    }
    return ok_status();
}

Status Executor::run_tokens(std::span<const TokenRun> runs, const std::atomic<bool>* cancel) {
    std::vector<std::int32_t> ids;
    for (const TokenRun& run : runs) ids.insert(ids.end(), run.tokens.begin(), run.tokens.end());
    CLASP_ASSIGN_OR_RETURN(model::DecoderGraph graph, workspace_.start(runs.size()));
    graph.rope_factors = runs.front().sequence->rope_factors();
    GraphInputs inputs(graph);
    ggml_tensor* embedded = model::build_embedding(graph, inputs.integers(ids));
    ggml_tensor* hidden = build_token_blocks(graph, inputs, embedded, runs, 0, graph.weights->blocks.size());
    ggml_tensor* logits = model::build_head(graph, hidden);
    ggml_set_output(logits);
    ggml_build_forward_expand(graph.graph, logits);
    CLASP_RETURN_IF_ERROR(workspace_.run(graph, inputs, cancel));
    CLASP_RETURN_IF_ERROR(read_logits(logits, logits_));
    for (const TokenRun& run : runs) run.sequence->append(run.tokens);
    return ok_status();
}

}  // namespace clasp::engine
