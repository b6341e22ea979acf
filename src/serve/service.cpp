#include "serve/service.h"

#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "serve/access.h"

namespace clasp::serve {

namespace {

// How often a connection that waits looks whether its client is still there.
constexpr std::chrono::milliseconds kLook{100};
// With several choices each gets a glance in turn.
constexpr std::chrono::milliseconds kGlanceAtChoice{10};

std::string client_of(const HttpRequest& http, const ServeOptions& options) {
    const std::string_view key = presented_key(http);
    if (options.access.keys.is_empty() || key.empty()) return http.address;
    return base::sha256_hex(key);
}

}  // namespace

Check Encodings::start(Service& service, ChatRequest chat, const HttpRequest& http,
                       const std::string& picture_hash, bool& is_cached) {
    is_cached = false;
    const std::string scope =
        service.options.is_cache_apart ? client_of(http, service.options) : std::string();
    const std::string hash = scope + picture_hash;
    {
        const std::lock_guard lock(mutex_);
        for (const Encoding& encoding : latest_) {
            if (encoding.hash != hash) continue;
            const bool is_over = encoding.job->wait(std::chrono::milliseconds(0)).is_over;
            is_cached = is_over && encoding.job->answer() != nullptr;
            if (is_cached || !is_over) return std::nullopt;
        }
    }
    Submission submission;
    submission.client = client_of(http, service.options);
    submission.request_id = http.id;
    submission.request = std::move(chat.ask);
    submission.request.cache_scope = scope;
    submission.pictures = std::make_shared<const std::list<std::string>>(std::move(chat.pictures));
    submission.encodes_only = true;
    std::shared_ptr<Job> job;
    PlannedRequest planned;
    CLASP_RETURN_IF_REFUSED(service.scheduler.submit(std::move(submission), job, planned));
    const std::lock_guard lock(mutex_);
    latest_.push_back({hash, std::move(job)});
    if (latest_.size() > n_kept_) latest_.pop_front();
    return std::nullopt;
}

RunningChat::~RunningChat() {
    for (const std::shared_ptr<Job>& job : jobs) job->cancel();
}

Check RunningChat::start(Service& service, ChatRequest chat, const HttpRequest& http,
                         std::shared_ptr<RunningChat>& running) {
    auto started = std::make_shared<RunningChat>();
    started->report = report_context(chat);
    started->reports = chat.reports;
    started->wants_usage = chat.wants_usage;
    started->wants_tokens = chat.wants_tokens;
    started->wants_timings = chat.wants_timings;
    started->silence = chat.silence;
    started->metrics = &service.metrics;
    Submission submission;
    submission.client = client_of(http, service.options);
    submission.has_max_tokens = chat.has_max_tokens;
    submission.has_budget = chat.budget_by != "default" && chat.budget_by != "detail";
    submission.wants_progress = chat.wants_progress;
    submission.request_id = http.id;
    submission.request = chat.ask;
    if (service.options.is_cache_apart) submission.request.cache_scope = submission.client;
    submission.pictures = std::make_shared<const std::list<std::string>>(std::move(chat.pictures));
    std::vector<OtherAnswer> others(chat.n_choices - 1);
    submission.others = &others;
    for (std::size_t i = 0; i < chat.n_choices; ++i) {
        const auto tokens = std::make_shared<TokenLog>(chat.wants_tokens);
        started->tokens.push_back(tokens);
        const auto add = [tokens](const WrittenToken& token) { tokens->add(token); };
        if (i == 0) {
            submission.request.on_token = add;
            submission.request.on_reused = [tokens](std::size_t n) { tokens->add_reused(n); };
            continue;
        }
        others[i - 1].seed = chat.ask.generation.seed + static_cast<std::uint32_t>(i);
        others[i - 1].on_token = add;
    }
    std::shared_ptr<Job> job;
    CLASP_RETURN_IF_REFUSED(service.scheduler.submit(std::move(submission), job, started->planned));
    started->jobs.push_back(std::move(job));
    for (const OtherAnswer& other : others) started->jobs.push_back(other.job);
    for (std::size_t i = 0; i < started->jobs.size(); ++i)
        service.slots.add(started->jobs[i], started->tokens[i], started->planned);
    started->generation = chat.ask.generation;
    started->generation.max_tokens = started->planned.max_tokens;
    if (service.options.logs_content) {
        started->log = service.options.log;
        started->id = http.id;
        clasp::log(started->log, LogLevel::Info,
                   http.id + " question: " + base::printable(chat.ask.question, 4096));
    }
    running = std::move(started);
    return std::nullopt;
}

bool RunningChat::wait(const HttpRequest& http) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        while (!jobs[i]->wait(kLook).is_over) {
            if (http.gone()) return false;
        }
        if (jobs[i]->answer() != nullptr) count(i);
    }
    return true;
}

void RunningChat::count(std::size_t choice) const {
    const Job& job = *jobs[choice];
    metrics->count_answer(*job.answer(), planned, job.queue_ms(), tokens[choice]->gaps_ms());
    if (log) clasp::log(log, LogLevel::Info, id + " answer: " + base::printable(job.answer()->text, 4096));
}

const Refusal* RunningChat::refusal() const {
    for (const std::shared_ptr<Job>& job : jobs) {
        if (job->answer() == nullptr) return &job->refusal();
    }
    return nullptr;
}

std::vector<const Answer*> RunningChat::answers() const {
    std::vector<const Answer*> answers;
    for (const std::shared_ptr<Job>& job : jobs) answers.push_back(job->answer());
    return answers;
}

HeaderList RunningChat::headers() const {
    HeaderList headers;
    if (planned.n_kept && planned.n_visual > 0) {
        headers.emplace_back("X-Clasp-Tokens",
                             std::to_string(*planned.n_kept) + "/" + std::to_string(planned.n_visual));
    }
    std::string name = planned.chosen_class.name;
    std::erase_if(name, [](char c) { return c < ' ' || c > '~'; });
    headers.emplace_back("X-Clasp-Class",
                         name + ";" + base::format_number(planned.chosen_class.confidence, 2));
    return headers;
}

std::string RunningChat::log_note() const {
    std::string note = "prompt=" + std::to_string(planned.n_prompt);
    const Job& job = *jobs.front();
    const Answer* answer = job.is_over() ? job.answer() : nullptr;
    if (answer == nullptr) return note + (job.is_over() ? " code=" + job.refusal().code : " cancelled");
    const AskTimings& times = answer->timings;
    note += " written=" + std::to_string(answer->generated) +
            " kept=" + std::to_string(answer->tokens.final) + "/" + std::to_string(answer->tokens.visual) +
            " class=" + std::to_string(answer->chosen_class.id);
    for (const auto& [name, ms] :
         {std::pair{"queue", job.queue_ms()}, std::pair{"image", times.image_ms},
          std::pair{"encode", times.encode_ms}, std::pair{"prefill", times.prefill_ms},
          std::pair{"first", times.first_token_ms}, std::pair{"decode", times.decode_ms}}) {
        note += " " + std::string(name) + "=" + base::format_number(ms, 1);
    }
    return note;
}

namespace {

// What came of one choice since the last time. n_sent: bytes of its text that were handed on.
bool send_news(RunningChat& running, std::size_t choice, const Job::News& news, const StreamEvents& events,
               std::size_t& n_sent, bool& has_written) {
    const auto send = [&](const StreamPiece& piece) {
        has_written = true;
        n_sent += piece.text.size();
        return events.on_text(choice, piece);
    };
    if (!running.wants_tokens) return news.text.empty() || send({news.text});
    for (WrittenToken& token : running.tokens[choice]->take()) {
        StreamPiece piece = {token.text, std::nullopt};
        piece.token = std::move(token);
        if (!send(piece)) return false;
    }
    const Answer* answer = news.is_over ? running.jobs[choice]->answer() : nullptr;
    return answer == nullptr || n_sent >= answer->text.size() || send({answer->text.substr(n_sent)});
}

}  // namespace

bool follow(RunningChat& running, StreamOut& out, const StreamEvents& events) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_written = Clock::now();
    std::vector<bool> is_over(running.jobs.size(), false);
    std::vector<std::size_t> n_sent(running.jobs.size(), 0);
    std::size_t n_left = running.jobs.size();
    const auto most = running.jobs.size() == 1 ? kLook : kGlanceAtChoice;
    const auto wrote = [&](bool went_well) {
        last_written = Clock::now();
        return went_well;
    };
    while (n_left > 0) {
        for (std::size_t i = 0; i < running.jobs.size(); ++i) {
            if (is_over[i]) continue;
            Job& job = *running.jobs[i];
            const Job::News news = job.wait(most);
            for (const Progress& progress : news.progress) {
                if (events.on_progress && !wrote(events.on_progress(progress))) return false;
            }
            bool has_written = false;
            if (!send_news(running, i, news, events, n_sent[i], has_written)) return false;
            if (has_written) last_written = Clock::now();
            if (!news.is_over) continue;
            is_over[i] = true;
            --n_left;
            const Answer* answer = job.answer();
            if (answer == nullptr) {
                events.on_failure(job.refusal());
                return false;
            }
            running.count(i);
            if (!wrote(events.on_end(i, *answer))) return false;
        }
        if (out.gone()) return false;
        if (events.on_silence && running.silence && Clock::now() - last_written > *running.silence &&
            !wrote(events.on_silence()))
            return false;
    }
    return true;
}

}  // namespace clasp::serve
