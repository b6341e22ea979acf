#include "engine/generate.h"

#include "base/stopwatch.h"
#include "engine/text_stream.h"

namespace clasp::engine {
namespace {

bool is_cancelled(const GenerateOptions& options) {
    return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
}

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
    switch (reason) {
        case StopReason::End: return "end";
        case StopReason::MaxTokens: return "max_tokens";
        case StopReason::Cancelled: return "cancelled";
    }
    return "";
}

Result<GenerateResult> generate(DecoderSession& session, std::span<const float> first_logits,
                                const GenerateOptions& options) {
    const base::Stopwatch watch;
    if (options.max_tokens < 0) return Status(Code::InvalidArgument, "the number of tokens is negative");
    if (room_for(options.max_tokens) > session.room()) {
        return Status(Code::TooLarge, "up to " + std::to_string(options.max_tokens) +
                                          " tokens are wanted, but the session has room for " +
                                          std::to_string(session.room() + 1));
    }
    CLASP_ASSIGN_OR_RETURN(const auto sampler, Sampler::create(options.sampling));

    GenerateResult result;
    TextStream stream;
    const auto show = [&](const std::string& text) {
        if (text.empty()) return;
        result.text += text;
        if (options.on_text) options.on_text(text);
    };
    std::span<const float> logits = first_logits;
    result.reason = StopReason::MaxTokens;
    while (static_cast<std::int32_t>(result.tokens.size()) < options.max_tokens) {
        if (is_cancelled(options)) {
            result.reason = StopReason::Cancelled;
            break;
        }
        const std::int32_t token = sampler->pick(logits);
        if (session.model().ends_generation(token)) {
            result.reason = StopReason::End;
            break;
        }
        result.tokens.push_back(token);
        const std::string text = stream.push(session.model().piece(token));
        if (result.tokens.size() == 1) result.first_token_ms = watch.elapsed_ms();
        show(text);
        if (static_cast<std::int32_t>(result.tokens.size()) == options.max_tokens) break;
        const auto next = session.decode(token, options.cancel);
        if (!next.ok() && next.status().code() == Code::Cancelled) {
            result.reason = StopReason::Cancelled;
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
