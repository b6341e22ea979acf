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
// Clients give up on a stream in which nothing comes.
constexpr std::chrono::seconds kSilence{15};

std::string client_of(const HttpRequest& http, const ServeOptions& options) {
    const std::string_view key = presented_key(http);
    if (options.access.keys.is_empty() || key.empty()) return http.address;
    return base::sha256_hex(key);
}

}  // namespace

Check Encodings::start(Service& service, ChatRequest chat, const HttpRequest& http, const std::string& hash,
                       bool& is_cached) {
    is_cached = false;
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
    started->metrics = &service.metrics;
    const auto pictures = std::make_shared<const std::list<std::string>>(std::move(chat.pictures));
    const std::uint32_t seed = chat.ask.generation.seed;
    for (std::size_t i = 0; i < chat.n_choices; ++i) {
        Submission submission;
        submission.client = client_of(http, service.options);
        submission.has_max_tokens = chat.has_max_tokens;
        submission.wants_progress = chat.wants_progress;
        submission.request_id = http.id;
        submission.request = chat.ask;
        submission.request.generation.seed = seed + static_cast<std::uint32_t>(i);
        submission.pictures = pictures;
        std::shared_ptr<Job> job;
        CLASP_RETURN_IF_REFUSED(service.scheduler.submit(std::move(submission), job, started->planned));
        started->jobs.push_back(std::move(job));
    }
    running = std::move(started);
    return std::nullopt;
}

bool RunningChat::wait(const HttpRequest& http) {
    for (const std::shared_ptr<Job>& job : jobs) {
        while (!job->wait(kLook).is_over) {
            if (http.gone()) return false;
        }
        if (job->answer() != nullptr) metrics->count_answer(*job->answer(), planned, job->queue_ms());
    }
    return true;
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

bool follow(RunningChat& running, StreamOut& out, const StreamEvents& events) {
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_written = Clock::now();
    std::vector<bool> is_over(running.jobs.size(), false);
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
            if (news.progress && events.on_progress && !wrote(events.on_progress(*news.progress)))
                return false;
            if (!news.text.empty() && !wrote(events.on_text(i, news.text))) return false;
            if (!news.is_over) continue;
            is_over[i] = true;
            --n_left;
            const Answer* answer = job.answer();
            if (answer == nullptr) {
                events.on_failure(job.refusal());
                return false;
            }
            running.metrics->count_answer(*answer, running.planned, job.queue_ms());
            if (!wrote(events.on_end(i, *answer))) return false;
        }
        if (out.gone()) return false;
        if (events.on_silence && Clock::now() - last_written > kSilence && !wrote(events.on_silence()))
            return false;
    }
    return true;
}

}  // namespace clasp::serve
