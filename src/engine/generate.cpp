#include "engine/generate.h"

#include "base/stopwatch.h"
#include "engine/text_stream.h"

namespace clasp::engine {
namespace {

bool is_cancelled(const GenerateOptions& options) {
    return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
}

}  // namespace

Result<GenerateResult> generate(Executor& executor, Sequence& sequence, std::span<const float> first_logits,
                                const GenerateOptions& options) {
    const base::Stopwatch watch;
    if (options.max_tokens < 0) return Status(Code::InvalidArgument, "the number of tokens is negative");
    if (room_for(options.max_tokens) > sequence.room()) {
        return Status(Code::TooLarge, "up to " + std::to_string(options.max_tokens) +
                                          " tokens are wanted, but the sequence has room for " +
                                          std::to_string(sequence.room() + 1));
    }
    CLASP_ASSIGN_OR_RETURN(const auto sampler, Sampler::create(options.sampling));

    GenerateResult result;
    TextStream stream(options.stop);
    const auto show = [&](const std::string& text) {
        if (text.empty()) return;
        result.text += text;
        if (options.on_text) options.on_text(text);
    };
    std::span<const float> logits = first_logits;
    result.reason = Stopped::MaxTokens;
    while (static_cast<std::int32_t>(result.tokens.size()) < options.max_tokens) {
        if (is_cancelled(options)) {
            result.reason = Stopped::Cancelled;
            break;
        }
        const std::int32_t token = sampler->pick(logits);
        if (sequence.model().ends_generation(token)) {
            result.reason = Stopped::End;
            break;
        }
        result.tokens.push_back(token);
        const std::string text = stream.push(sequence.model().piece(token));
        if (result.tokens.size() == 1) result.first_token_ms = watch.elapsed_ms();
        show(text);
        if (stream.has_stopped()) {
            result.reason = Stopped::StopText;
            break;
        }
        if (static_cast<std::int32_t>(result.tokens.size()) == options.max_tokens) break;
        const auto next = executor.step(sequence, token, options.cancel);
        if (!next.ok() && next.status().code() == Code::Cancelled) {
            result.reason = Stopped::Cancelled;
            break;
        }
        if (!next.ok()) return next.status();
        logits = *next;
    }
    show(stream.finish());
    result.decode_ms = watch.elapsed_ms();
    return result;
}

}  // namespace clasp::engine

namespace clasp {

std::string_view stopped_name(Stopped stopped) {
    switch (stopped) {
        case Stopped::End: return "end";
        case Stopped::StopText: return "stop_text";
        case Stopped::MaxTokens: return "max_tokens";
        case Stopped::Cancelled: return "cancelled";
        case Stopped::Deadline: return "deadline";
    }
    return "";
}

}  // namespace clasp
