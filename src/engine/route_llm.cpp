#include "clasp/route_llm.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>

#include "engine/answer_scores.h"
#include "engine/chat_model.h"
#include "engine/route_prompt.h"
#include "model/backend.h"

namespace clasp {

namespace engine {

namespace {

using Clock = ChatModel::Clock;

class LlmRouter : public IntentChooser {
   public:
    LlmRouter(std::unique_ptr<ChatModel> model, double timeout_ms, LogSink log)
        : model_(std::move(model)),
          timeout_(std::chrono::duration_cast<Clock::duration>(
              std::chrono::duration<double, std::milli>(timeout_ms))),
          log_(std::move(log)) {}

    Result<Choice> choose(std::string_view question, const std::vector<RouteIntent>& intents) override {
        if (intents.empty()) return Status(Code::InvalidArgument, "there are no intents to choose from");
        if (intents.size() == 1) return Choice{0, 1.0f, {1.0f}};
        // Waiting for other questions counts, because whoever asks wants an answer by then; reading the list
        // of intents does not, because it is done once and not for this question.
        const Clock::time_point start = Clock::now();
        const Clock::rep list_time = list_time_;
        const std::lock_guard lock(turn_);
        try {
            CLASP_RETURN_IF_ERROR(read_list(intents));
            return ask(question, start + timeout_ + Clock::duration(list_time_ - list_time));
        } catch (const std::exception& error) {
            return Status(Code::Internal, std::string("libllama failed: ") + error.what());
        }
    }

   private:
    // Computes the instructions and the list of intents once; their keys and values stay in the model.
    Status read_list(const std::vector<RouteIntent>& intents) {
        std::string text = router_system_text(intents);
        if (text != system_text_) {
            answers_.clear();
            for (const std::string& answer : router_answers(intents)) {
                CLASP_ASSIGN_OR_RETURN(std::vector<std::int32_t> tokens, model_->answer(answer));
                answers_.push_back(std::move(tokens));
            }
            system_text_ = std::move(text);
        }
        CLASP_ASSIGN_OR_RETURN(ChatPrompt prompt, model_->prompt(system_text_, ""));
        prompt.tokens.resize(prompt.n_before_question);
        if (prompt.tokens.empty() || model_->has_read(prompt.tokens)) return ok_status();
        const Clock::time_point start = Clock::now();
        clasp::log(log_, LogLevel::Info,
                   "the router model reads the list of intents, " + std::to_string(prompt.tokens.size()) +
                       " tokens; questions take less from then on");
        const auto logits = model_->read(prompt.tokens, Clock::time_point::max());
        list_time_ += (Clock::now() - start).count();
        return logits.status();
    }

    Result<Choice> ask(std::string_view question, Clock::time_point deadline) {
        CLASP_ASSIGN_OR_RETURN(const ChatPrompt prompt, model_->prompt(system_text_, question));
        CLASP_ASSIGN_OR_RETURN(const std::vector<double> scores,
                               score_answers(*model_, prompt.tokens, answers_, deadline));
        Choice choice;
        choice.intent =
            static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
        for (const double score : scores) choice.scores.push_back(static_cast<float>(std::min(1.0, score)));
        choice.confidence = choice.scores[choice.intent];
        return choice;
    }

    std::mutex turn_;
    std::unique_ptr<ChatModel> model_;
    Clock::duration timeout_;
    LogSink log_;
    std::string system_text_;
    std::vector<std::vector<std::int32_t>> answers_;
    std::atomic<Clock::rep> list_time_ = 0;  // spent on lists so far
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
        std::make_shared<engine::LlmRouter>(std::move(chat), options.timeout_ms, options.log));
}

}  // namespace clasp
