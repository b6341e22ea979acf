// A text-only chat model of any architecture that libllama runs, for short constrained answers. The
// engine's own graphs know only the decoders of vision-language models; this one leaves the graphs to
// libllama.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clasp/log.h"
#include "clasp/status.h"
#include "model/backend.h"
#include "model/text_file.h"

struct llama_context;
struct llama_vocab;

namespace clasp::engine {

// One turn, up to where the answer begins. What stands before the question is the same for every question.
struct ChatPrompt {
    std::vector<std::int32_t> tokens;
    std::size_t n_before_question = 0;
};

// Not thread safe.
class ChatModel {
   public:
    using Clock = std::chrono::steady_clock;

    // The container and the vocabulary of the file are checked first; the rest is libllama's check.
    static Result<std::unique_ptr<ChatModel>> load(const std::string& path,
                                                   std::shared_ptr<model::Compute> compute,
                                                   const LogSink& log);
    ~ChatModel();
    ChatModel(const ChatModel&) = delete;
    ChatModel& operator=(const ChatModel&) = delete;

    [[nodiscard]] const llama_vocab* vocabulary() const;
    // The bytes of a token, which may be part of a UTF-8 sequence.
    [[nodiscard]] std::string piece(std::int32_t token) const;

    // The tokens of one turn by the file's chat template. Words of the user never become control tokens.
    [[nodiscard]] Result<ChatPrompt> prompt(const std::string& system, std::string_view user) const;
    // Plain text that the model is to write.
    [[nodiscard]] Result<std::vector<std::int32_t>> answer(std::string_view text) const;

    // Logits of the token that follows `tokens`, valid until the next call. What `tokens` share with the
    // call before is not computed again. Deadline when the time is up; what was computed until then is
    // kept. TooLarge when the tokens do not fit.
    Result<std::span<const float>> read(std::span<const std::int32_t> tokens, Clock::time_point deadline);
    // Whether the next read() of a text that begins so finds all of it computed.
    [[nodiscard]] bool has_read(std::span<const std::int32_t> tokens) const;

   private:
    struct Free {
        void operator()(llama_context* context) const;
    };

    ChatModel() = default;
    [[nodiscard]] Result<std::vector<std::int32_t>> tokenize(std::string_view text, bool parse_special) const;
    void forget_from(std::size_t place);

    std::shared_ptr<model::Compute> compute_;
    model::LlamaModelPointer model_;
    std::unique_ptr<llama_context, Free> context_;
    std::string template_;             // empty: none that libllama knows
    std::vector<std::int32_t> known_;  // whose keys and values the context holds
    Clock::time_point deadline_ = {};  // of the read() under way
};

}  // namespace clasp::engine
