#include "clasp/route_llm.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <span>

#include "engine/chat_model.h"
#include "engine/route_prompt.h"
#include "llama.h"
#include "model/backend.h"

namespace clasp {

namespace engine {

namespace {

struct FreeSampler {
    void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using SamplerPointer = std::unique_ptr<llama_sampler, FreeSampler>;

// The answer as it grows: what has been written, and how probable each answer still is.
class AnswerWriter {
   public:
    AnswerWriter(const ChatModel& model, const std::vector<std::string>& answers, llama_sampler& grammar)
        : model_(model), answers_(answers), grammar_(grammar), probability_(answers.size(), 1.0) {}

    // The likeliest token that the grammar allows.
    Result<std::int32_t> write(std::span<const float> logits) {
        candidates_.resize(logits.size());
        for (std::size_t i = 0; i < logits.size(); ++i) {
            candidates_[i] = {.id = static_cast<llama_token>(i), .logit = logits[i], .p = 0.0F};
        }
        llama_token_data_array array = {
            .data = candidates_.data(), .size = candidates_.size(), .selected = -1, .sorted = false};
        llama_sampler_apply(&grammar_, &array);
        const std::vector<Allowed> allowed = find_allowed();
        if (allowed.empty()) {
            return Status(Code::Corrupt, "the router model's logits allow no answer of the list");
        }
        const auto best =
            std::max_element(allowed.begin(), allowed.end(),
                             [](const Allowed& a, const Allowed& b) { return a.logit < b.logit; });
        weigh(allowed, best->logit);
        llama_sampler_accept(&grammar_, best->token);
        text_ += best->piece;
        return best->token;
    }

    // Once a single answer begins with what was written, the grammar forces the rest.
    [[nodiscard]] bool is_decided() const { return n_answers_from(text_) == 1; }
    [[nodiscard]] IntentChooser::Choice choice() const {
        const auto chosen = std::find_if(answers_.begin(), answers_.end(), [this](const std::string& answer) {
            return answer.starts_with(text_);
        });
        const auto index = static_cast<std::size_t>(chosen - answers_.begin());
        return {index, static_cast<float>(std::min(1.0, probability_[index]))};
    }

   private:
    struct Allowed {
        std::int32_t token;
        double logit;
        std::string piece;
    };

    // The grammar's word, and ours: each token must lead on to an answer, so that writing ends.
    [[nodiscard]] std::vector<Allowed> find_allowed() const {
        std::vector<Allowed> allowed;
        for (const llama_token_data& candidate : candidates_) {
            if (!std::isfinite(candidate.logit)) continue;
            std::string piece = model_.piece(candidate.id);
            if (piece.empty() || n_answers_from(text_ + piece) == 0) continue;
            allowed.push_back({candidate.id, static_cast<double>(candidate.logit), std::move(piece)});
        }
        return allowed;
    }

    [[nodiscard]] std::ptrdiff_t n_answers_from(const std::string& text) const {
        return std::count_if(answers_.begin(), answers_.end(),
                             [&text](const std::string& answer) { return answer.starts_with(text); });
    }

    // Multiplies each answer's probability by that of the tokens that lead on to it, among those allowed:
    // the same answer may be cut into tokens in many ways.
    void weigh(const std::vector<Allowed>& allowed, double largest) {
        std::vector<double> mass(answers_.size(), 0.0);
        double total = 0.0;
        for (const Allowed& token : allowed) {
            const double p = std::exp(token.logit - largest);
            const std::string grown = text_ + token.piece;
            total += p;
            for (std::size_t i = 0; i < answers_.size(); ++i) {
                if (answers_[i].starts_with(grown)) mass[i] += p;
            }
        }
        for (std::size_t i = 0; i < answers_.size(); ++i) probability_[i] *= mass[i] / total;
    }

    const ChatModel& model_;
    const std::vector<std::string>& answers_;
    llama_sampler& grammar_;
    std::vector<double> probability_;
    std::vector<llama_token_data> candidates_;
    std::string text_;
};

class LlmRouter : public IntentChooser {
   public:
    LlmRouter(std::unique_ptr<ChatModel> model, double timeout_ms)
        : model_(std::move(model)), timeout_ms_(timeout_ms) {}

    Result<Choice> choose(std::string_view question, const std::vector<RouteIntent>& intents) override {
        if (intents.empty()) return Status(Code::InvalidArgument, "there are no intents to choose from");
        if (intents.size() == 1) return Choice{};
        // Waiting for other questions counts: whoever asks wants an answer by then.
        const auto deadline =
            ChatModel::Clock::now() + std::chrono::duration_cast<ChatModel::Clock::duration>(
                                          std::chrono::duration<double, std::milli>(timeout_ms_));
        const std::lock_guard lock(turn_);
        try {
            return ask(question, intents, deadline);
        } catch (const std::exception& error) {
            return Status(Code::Internal, std::string("libllama failed: ") + error.what());
        }
    }

   private:
    Result<Choice> ask(std::string_view question, const std::vector<RouteIntent>& intents,
                       ChatModel::Clock::time_point deadline) {
        const std::vector<std::string> answers = router_answers(intents);
        const SamplerPointer grammar(
            llama_sampler_init_grammar(model_->vocabulary(), router_grammar(answers).c_str(), "root"));
        if (grammar == nullptr) return Status(Code::Unsupported, "libllama cannot read the list of intents");
        CLASP_ASSIGN_OR_RETURN(std::vector<std::int32_t> tokens,
                               model_->prompt(router_system_text(intents), question));
        AnswerWriter writer(*model_, answers, *grammar);
        while (!writer.is_decided()) {
            CLASP_ASSIGN_OR_RETURN(const std::span<const float> logits, model_->read(tokens, deadline));
            CLASP_ASSIGN_OR_RETURN(const std::int32_t token, writer.write(logits));
            tokens.push_back(token);
        }
        return writer.choice();
    }

    std::mutex turn_;
    std::unique_ptr<ChatModel> model_;
    double timeout_ms_;
};

}  // namespace

}  // namespace engine

Result<std::shared_ptr<IntentChooser>> load_llm_router(const LlmRouterOptions& options) {
    constexpr double kLongestMs = 3.6e6;
    if (!(options.timeout_ms > 0.0 && options.timeout_ms <= kLongestMs)) {
        return Status(Code::InvalidArgument,
                      "the router model's time limit is not above 0 and at most an hour");
    }
    CLASP_ASSIGN_OR_RETURN(
        auto compute, model::Compute::create({.n_threads = options.n_threads, .use_gpu = options.use_gpu}));
    CLASP_ASSIGN_OR_RETURN(auto chat,
                           engine::ChatModel::load(options.model, std::move(compute), options.log));
    return std::shared_ptr<IntentChooser>(
        std::make_shared<engine::LlmRouter>(std::move(chat), options.timeout_ms));
}

}  // namespace clasp
