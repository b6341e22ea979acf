// What the scheduler takes in, and which request comes next.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "engine/ask_run.h"
#include "engine/engine_state.h"
#include "serve/plan_refusal.h"
#include "serve/scheduler.h"
#include "serve/scheduler_entry.h"

namespace clasp::serve {

namespace {

// Requests that come later and have nothing to encode may pass one that has so often.
constexpr std::size_t kMostPassed = 2;
Refusal refuse_for_now(std::string code, std::string message, double retry_after_s) {
    return {.status = 503,
            .type = "unavailable_error",
            .code = std::move(code),
            .message = std::move(message),
            .retry_after_s = std::max(1, static_cast<int>(retry_after_s))};
}

Refusal draining() {
    return refuse_for_now("draining", "the server is shutting down", 1);
}

std::size_t picture_bytes(const std::list<std::string>* pictures) {
    std::size_t n = 0;
    if (pictures == nullptr) return n;
    for (const std::string& picture : *pictures) n += picture.size();
    return n;
}

// The count that is left in the end, where the plan fixes it and no rows beside the tokens are carried along.
std::optional<std::size_t> planned_kept(const engine::AskPlan& plan) {
    for (const ImageLayout& image : plan.shape.images) {
        if (image.n_fixed > 0) return std::nullopt;
    }
    std::size_t kept = plan.shape.n_visual();
    const methods::MethodRun* run = plan.started.run.get();
    if (run == nullptr) return kept;
    if (run->program().is_adaptive) return std::nullopt;
    kept = std::min(kept, run->program().entering);
    for (const methods::DecoderStage& stage : run->program().stages) kept = std::min(kept, stage.keep);
    return kept;
}

// The server's limits, and the request's own where it is shorter.
RequestLimits limits_of(const AskRequest& request, RequestLimits limits) {
    if (request.max_seconds) {
        limits.max_request =
            std::min(limits.max_request, std::chrono::ceil<std::chrono::milliseconds>(
                                             std::chrono::duration<double>(*request.max_seconds)));
    }
    return limits;
}

}  // namespace

Check Scheduler::submit(Submission submission, std::shared_ptr<Job>& job, PlannedRequest& planned) {
    auto entry = std::make_unique<Entry>();
    entry->n_bytes = picture_bytes(submission.pictures.get());
    if (submission.pictures != nullptr) {
        for (const std::string& picture : *submission.pictures)
            entry->pictures.push_back(base::sha256_hex(picture));
    }
    entry->client = submission.client;
    entry->request_id = submission.request_id;
    entry->encodes_only = submission.encodes_only;
    const RequestLimits limits = limits_of(submission.request, options_.limits);
    entry->job = std::make_shared<Job>(limits, std::move(submission.pictures));
    Job* const its_job = entry->job.get();
    submission.request.cancel = &its_job->cancel_flag();
    if (submission.encodes_only) submission.request.history_mode = HistoryMode::Reselect;
    submission.request.on_text = [its_job](std::string_view text) { its_job->add_text(text); };
    if (submission.wants_progress) {
        submission.request.on_progress = [its_job](const Progress& progress) {
            its_job->set_progress(progress);
        };
    }
    const engine::EngineState& state = engine_.state();
    auto plan = engine::plan_ask(state, submission.request);
    if (!plan.ok()) {
        return note_failure(refusal_of_plan(state, submission.request, plan.status(), submission.request_id),
                            plan.status(), submission.request_id);
    }
    entry->plan = std::move(*plan);
    const std::size_t context = options_.context > 0 ? options_.context : engine_.info().context_length;
    planned.n_prompt = entry->plan->n_prompt();
    planned.n_visual = planned.n_prompt - entry->plan->shape.n_text;
    if (submission.has_budget)
        CLASP_RETURN_IF_REFUSED(check_budget(submission.request, entry->plan->shape.n_visual()));
    if (planned.n_prompt >= context) {
        Refusal refusal =
            bad_field("context_length_exceeded", "messages",
                      "the request has " + std::to_string(planned.n_prompt) +
                          " tokens, but the context of the model is " + std::to_string(context));
        refusal.type = "exceed_context_size_error";
        refusal.more = {{"n_prompt_tokens", planned.n_prompt}, {"n_ctx", context}};
        return refusal;
    }
    // An answer ends where the context does.
    std::size_t& max_tokens = entry->plan->request.generation.max_tokens;
    if (!submission.has_max_tokens) max_tokens = options_.limits.output_tokens_unasked();
    max_tokens = std::min(max_tokens, context - planned.n_prompt);
    planned.max_tokens = max_tokens;
    planned.chosen_class = entry->plan->plan.chosen_class;
    planned.n_kept = planned_kept(*entry->plan);
    entry->kv_bytes = submission.encodes_only ? 0 : entry->plan->kv_bytes(state.text->config());
    if (submission.others != nullptr) {
        for (OtherAnswer& other : *submission.others)
            other.job = std::make_shared<Job>(limits, entry->job->pictures());
        entry->others = *submission.others;
        entry->kv_bytes *= 1 + entry->others.size();
    }

    const std::lock_guard lock(mutex_);
    CLASP_RETURN_IF_REFUSED(admit(submission, entry->n_bytes, entry->kv_bytes));
    job = entry->job;
    ++per_client_[entry->client];
    waiting_bytes_ += entry->n_bytes;
    entry->units_at_arrival = counts_.n_units;
    (submission.encodes_only ? ahead_ : waiting_).push(submission.client, std::move(entry));
    wake_.notify_one();
    return std::nullopt;
}

Refusal Scheduler::note_failure(Refusal refusal, const Status& status, const std::string& request_id) const {
    if (refusal.status == 500 && status.code() != Code::Cancelled) {
        log(options_.log, LogLevel::Error,
            request_id + " failed: " + base::printable(status.message(), 1024));
    }
    return refusal;
}

Check Scheduler::admit(const Submission& submission, std::size_t n_bytes, std::size_t kv_bytes) {
    const RequestLimits& limits = options_.limits;
    if (is_draining_) return draining();
    if (options_.max_kv_bytes > 0 && kv_bytes > options_.max_kv_bytes) {
        return bad_field("out_of_range", "max_tokens",
                         "the request needs " + std::to_string(kv_bytes >> 20U) +
                             " MiB for keys and values, and the server has " +
                             std::to_string(options_.max_kv_bytes >> 20U));
    }
    const std::size_t n_waiting = waiting_.size() + ahead_.size();
    const double wait_s = mean_service_s_ * static_cast<double>(n_waiting + 1);
    if (n_waiting >= limits.max_queue || waiting_bytes_ + n_bytes > limits.max_queue_bytes) {
        return refuse_for_now("queue_full", "too many requests wait already", wait_s);
    }
    const auto client = per_client_.find(submission.client);
    if (client != per_client_.end() && client->second >= limits.max_per_client) {
        Refusal refusal = refuse_for_now(
            "too_many_requests",
            "one client may have " + std::to_string(limits.max_per_client) + " requests at a time", wait_s);
        refusal.status = 429;
        refusal.type = "rate_limit_error";
        return refusal;
    }
    return std::nullopt;
}

void Scheduler::drop_waiting() {
    std::list<EntryPtr> dropped;
    {
        const std::lock_guard lock(mutex_);
        const auto is_unwanted = [this](const EntryPtr& entry) {
            return is_draining_ || entry->is_cancelled() || entry->job->has_waited_too_long();
        };
        dropped = waiting_.take_if(is_unwanted);
        dropped.splice(dropped.end(), ahead_.take_if(is_unwanted));
        for (const EntryPtr& entry : dropped) waiting_bytes_ -= entry->n_bytes;
    }
    for (EntryPtr& entry : dropped) {
        refuse(std::move(entry),
               is_draining() ? draining()
                             : refuse_for_now("queue_full", "the request waited too long for its turn", 1));
    }
}

bool Scheduler::fits(const Entry& entry) const {
    return options_.max_kv_bytes == 0 || counts_.kv_bytes + entry.kv_bytes <= options_.max_kv_bytes;
}

bool Scheduler::is_encoded(const Entry& entry) const {
    return std::all_of(entry.pictures.begin(), entry.pictures.end(), [this](const std::string& picture) {
        return std::find(encoded_.begin(), encoded_.end(), picture) != encoded_.end();
    });
}

FairQueue<Scheduler::EntryPtr>* Scheduler::next_queue() {
    if (waiting_.front() == nullptr) return writing_.empty() && ahead_.front() != nullptr ? &ahead_ : nullptr;
    return fits(**waiting_.front()) ? &waiting_ : nullptr;
}

Scheduler::EntryPtr Scheduler::take_from(FairQueue<EntryPtr>& queue) {
    Entry& first = **queue.front();
    if (&queue == &waiting_ && first.n_passed < kMostPassed && !is_encoded(first)) {
        auto quick =
            queue.pop_if([this](const EntryPtr& entry) { return is_encoded(*entry) && fits(*entry); });
        if (quick) {
            ++first.n_passed;
            return std::move(*quick);
        }
    }
    return std::move(*queue.pop());
}

bool Scheduler::let_next_in() {
    if (reading_ != nullptr) return false;
    if (aside_ != nullptr) {  // what it was read beside is over
        reading_ = std::move(aside_);
        return true;
    }
    if (writing_.size() >= options_.parallel) return false;
    {
        const std::lock_guard lock(mutex_);
        FairQueue<EntryPtr>* const queue = is_draining_ ? nullptr : next_queue();
        if (queue == nullptr) return false;
        reading_ = take_from(*queue);
    }
    begin(reading_);
    return true;
}

bool Scheduler::begin(EntryPtr& entry) {
    {
        const std::lock_guard lock(mutex_);
        waiting_bytes_ -= entry->n_bytes;
        counts_.kv_bytes += entry->kv_bytes;
        ++counts_.n_running;
        if (entry->pictures.empty()) {
            counts_.most_units_before_text =
                std::max(counts_.most_units_before_text, counts_.n_units - entry->units_at_arrival);
        }
        entry->is_running = true;
        running_.push_back(entry->job);
    }
    entry->job->start();
    if (lane_ == nullptr) {
        auto lane = engine::Lane::open(engine_.state());
        if (!lane.ok()) {
            fail(std::move(entry), lane.status());
            return false;
        }
        lane_ = std::move(*lane);
    }
    std::vector<AskRequest> others;
    for (const OtherAnswer& other : entry->others) {
        AskRequest request = entry->plan->request;
        Job* const job = other.job.get();
        request.generation.seed = other.seed;
        request.on_token = other.on_token;
        request.on_text = [job](std::string_view text) { job->add_text(text); };
        request.cancel = &job->cancel_flag();
        others.push_back(std::move(request));
    }
    entry->run = std::make_unique<engine::AskRun>(engine_.state(), std::move(entry->plan), entry->since);
    entry->run->also_answer(std::move(others));
    return true;
}

}  // namespace clasp::serve
