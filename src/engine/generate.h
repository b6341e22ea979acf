// Generation after a prefill: sample, stream, stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stopwatch.h"
#include "clasp/engine.h"
#include "clasp/status.h"
#include "engine/executor.h"
#include "engine/sampler.h"
#include "engine/text_stream.h"

namespace clasp::engine {

// Steps that generating up to max_tokens needs: PrefillRequest::room. The last token is
// never fed back.
constexpr std::int32_t room_for(std::int32_t max_tokens) {
    return max_tokens > 0 ? max_tokens - 1 : 0;
}

struct GenerateOptions {
    std::int32_t max_tokens = 256;
    SamplingOptions sampling = {};
    std::vector<std::string> stop = {};                  // texts that end the answer; none is empty
    bool keeps_space = false;                            // white space at both ends of the answer stays
    bool ignores_end = false;                            // tokens that end an answer are never picked
    std::optional<std::size_t> n_likely = std::nullopt;  // as GenerationOptions has it
    std::function<void(const WrittenToken& token)> on_token = {};
    // Gets the answer piece by piece, each whole UTF-8 characters; the pieces joined are the answer.
    std::function<void(std::string_view text)> on_text = {};
    const std::atomic<bool>* cancel = nullptr;
};

struct GenerateResult {
    std::string text;                   // without white space at its ends and without a stop text
    std::vector<std::int32_t> tokens;   // without the one that ended the answer
    std::vector<WrittenToken> written;  // the same with what was asked about them
    std::string stop_text;              // the one that came, if that ended it
    Stopped reason = Stopped::End;
    double decode_ms = 0;
    // From the call until the first token's text was there to hand on; 0 when there is no token.
    double first_token_ms = 0;
};

// A text that grows by one token at a time: whoever runs it feeds the logits behind each token.
class Generation {
   public:
    // Errors with TooLarge when the sequence has too little room, and where sampling cannot be as asked for.
    static Result<std::unique_ptr<Generation>> start(const Sequence& sequence, GenerateOptions options);

    // The token to run next, or nothing: the text is over.
    std::optional<std::int32_t> take(std::span<const float> logits);
    // The text ends here, before a token was taken from the logits.
    void stop(Stopped reason) { result_.reason = reason; }
    // Once it is over; the rest of the text is shown.
    GenerateResult finish();

   private:
    Generation(const model::TextModel& model, GenerateOptions options, std::unique_ptr<Sampler> sampler);
    void show(const std::string& text);
    // The token before its text is known.
    [[nodiscard]] WrittenToken describe(std::int32_t token, std::span<const float> logits) const;

    const model::TextModel& model_;
    GenerateOptions options_;
    std::unique_ptr<Sampler> sampler_;
    TextStream stream_;
    GenerateResult result_;
    base::Stopwatch watch_;
};

}  // namespace clasp::engine
