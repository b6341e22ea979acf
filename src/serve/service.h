// What every route has to do with: the engine, its queue, the options, the figures.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clasp/engine.h"
#include "serve/chat_request.h"
#include "serve/http.h"
#include "serve/job.h"
#include "serve/metrics.h"
#include "serve/model_card.h"
#include "serve/options.h"
#include "serve/refusal.h"
#include "serve/report.h"
#include "serve/scheduler.h"
#include "serve/slots.h"
#include "serve/token_log.h"

namespace clasp::serve {

struct Service;

// Pictures that were sent ahead of their question, the latest ones.
class Encodings {
   public:
    // n_kept: how many the engine's memory holds.
    explicit Encodings(std::size_t n_kept) : n_kept_(n_kept) {}
    // Queues the picture of a request behind everything else, unless that was done already.
    Check start(Service& service, ChatRequest chat, const HttpRequest& http, const std::string& hash,
                bool& is_cached);

   private:
    struct Encoding {
        std::string hash;
        std::shared_ptr<Job> job;
    };
    const std::size_t n_kept_;
    std::mutex mutex_;
    std::deque<Encoding> latest_;
};

struct Service {
    const Engine& engine;
    const ServeOptions& options;
    const ModelCard& card;
    Scheduler& scheduler;
    Encodings& encodings;
    Metrics& metrics;
    Slots& slots;

    [[nodiscard]] ChatContext chat_context() const { return {options, card, engine.policy()}; }
};

// A request under way with all its choices. When it goes, what is not over is cancelled.
class RunningChat {
   public:
    RunningChat() = default;
    ~RunningChat();
    RunningChat(const RunningChat&) = delete;
    RunningChat& operator=(const RunningChat&) = delete;

    // Plans and queues.
    static Check start(Service& service, ChatRequest chat, const HttpRequest& http,
                       std::shared_ptr<RunningChat>& running);

    // Waits for all choices. False: the client went away first.
    bool wait(const HttpRequest& http);
    // A choice that was answered, among the server's figures.
    void count(std::size_t choice) const;
    // The first choice that was refused, or null.
    [[nodiscard]] const Refusal* refusal() const;
    [[nodiscard]] std::vector<const Answer*> answers() const;

    // X-Clasp-Tokens and X-Clasp-Class, which the plan knows.
    [[nodiscard]] HeaderList headers() const;
    // Times of its stages, tokens and class, for the log; never what was said.
    [[nodiscard]] std::string log_note() const;

    std::vector<std::shared_ptr<Job>> jobs;         // one per choice
    std::vector<std::shared_ptr<TokenLog>> tokens;  // the same
    GenerationOptions generation;                   // of the first choice, as it runs
    PlannedRequest planned;
    ReportContext report;
    bool reports = true;
    bool wants_usage = false;
    bool wants_tokens = false;
    bool wants_timings = false;
    std::optional<std::chrono::seconds> silence;  // in a stream, until a sign of life
    // What to tell of the request for those who look for faults, with the prompt as text.
    std::optional<std::string> verbose_prompt;
    Metrics* metrics = nullptr;  // borrowed
    LogSink log = {};            // gets questions and answers, if that is wanted
    std::string id = {};         // of the request
};

// Text of an answer. Where tokens are wanted it is that of one token, or what was left behind the last.
struct StreamPiece {
    std::string text;
    std::optional<WrittenToken> token = std::nullopt;
};

// A piece of an answer in a stream, for whoever writes it out in its own form. False: the client is gone.
struct StreamEvents {
    std::function<bool(std::size_t choice, const StreamPiece& piece)> on_text;
    std::function<bool(const Progress& progress)> on_progress;  // may be empty
    std::function<bool(std::size_t choice, const Answer& answer)> on_end;
    std::function<bool(const Refusal& refusal)> on_failure;
    std::function<bool()> on_silence;  // nothing was written for a while; may be empty
};
// Hands everything on until all choices are over. False: the client went away, or a choice failed.
bool follow(RunningChat& running, StreamOut& out, const StreamEvents& events);

}  // namespace clasp::serve
