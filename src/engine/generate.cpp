#include "engine/generate.h"

#include <limits>
#include <string>
#include <utility>

#include "engine/likely_tokens.h"

namespace clasp::engine {
namespace {

bool is_cancelled(const GenerateOptions& options) {
    return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
}

// Nothing that ends an answer is ever picked.
void forbid_end(const model::TextModel& model, std::vector<TokenBias>& biases) {
    for (std::int32_t token = 0; token < model.config().vocabulary; ++token) {
        if (model.ends_generation(token)) {
            biases.push_back({token, -std::numeric_limits<double>::infinity()});
        }
    }
}

}  // namespace

Generation::Generation(const model::TextModel& model, GenerateOptions options,
                       std::unique_ptr<Sampler> sampler)
    : model_(model),
      options_(std::move(options)),
      sampler_(std::move(sampler)),
      stream_(options_.stop, options_.keeps_space) {
    result_.reason = Stopped::MaxTokens;
}

Result<std::unique_ptr<Generation>> Generation::start(const Sequence& sequence, GenerateOptions options) {
    if (options.max_tokens < 0) return Status(Code::InvalidArgument, "the number of tokens is negative");
    if (room_for(options.max_tokens) > sequence.room()) {
        return Status(Code::TooLarge, "up to " + std::to_string(options.max_tokens) +
                                          " tokens are wanted, but the sequence has room for " +
                                          std::to_string(sequence.room() + 1));
    }
    options.sampling.n_vocabulary = sequence.model().config().vocabulary;
    options.sampling.vocabulary = sequence.model().vocabulary();
    if (options.ignores_end) forbid_end(sequence.model(), options.sampling.token_bias);
    CLASP_ASSIGN_OR_RETURN(auto sampler, Sampler::create(options.sampling));
    return std::unique_ptr<Generation>(
        new Generation(sequence.model(), std::move(options), std::move(sampler)));
}

void Generation::show(const std::string& text) {
    if (text.empty()) return;
    result_.text += text;
    if (options_.on_text) options_.on_text(text);
}

std::optional<std::int32_t> Generation::take(std::span<const float> logits) {
    const auto is_full = [this] {
        return static_cast<std::int32_t>(result_.tokens.size()) >= options_.max_tokens;
    };
    if (is_full()) return std::nullopt;
    if (is_cancelled(options_)) {
        result_.reason = Stopped::Cancelled;
        return std::nullopt;
    }
    const std::optional<std::int32_t> picked = sampler_->pick(logits);
    if (!picked || model_.ends_generation(*picked)) {
        result_.reason = picked ? Stopped::End : Stopped::NoToken;
        return std::nullopt;
    }
    const std::int32_t token = *picked;
    result_.tokens.push_back(token);
    WrittenToken written = describe(token, logits);
    written.text = stream_.push(model_.piece(token));
    if (result_.tokens.size() == 1) result_.first_token_ms = watch_.elapsed_ms();
    if (options_.on_token) options_.on_token(written);
    show(written.text);
    result_.written.push_back(std::move(written));
    if (stream_.has_stopped()) {
        result_.reason = Stopped::StopText;
        result_.stop_text = stream_.stop_text();
        return std::nullopt;
    }
    if (is_full()) return std::nullopt;
    return token;
}

WrittenToken Generation::describe(std::int32_t token, std::span<const float> logits) const {
    WrittenToken written;
    written.token = {token, model_.piece(token, true), 0.0};
    if (!options_.n_likely) return written;
    const LikelyTokens likely = likely_tokens(logits, token, *options_.n_likely);
    written.token.logprob = likely.logprob;
    for (const auto& [id, logprob] : likely.top) {
        written.likely.push_back({id, model_.piece(id, true), logprob});
    }
    return written;
}

GenerateResult Generation::finish() {
    show(stream_.finish());
    result_.decode_ms = watch_.elapsed_ms();
    return std::move(result_);
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
        case Stopped::NoToken: return "no_token";
    }
    return "";
}

}  // namespace clasp
