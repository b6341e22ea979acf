#include "serve/scheduler.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/stopwatch.h"
#include "engine/ask_run.h"
#include "engine/engine_state.h"

namespace clasp::serve {

namespace {

using engine::AskRun;
using Phase = AskRun::Phase;

// How long a unit of reading should take: short enough for others to write in between.
constexpr double kUnitMs = 150.0;
// How often the thread looks at clocks and cancelled requests while nothing computes.
constexpr std::chrono::milliseconds kGlanceAtQueue{100};

Refusal refuse_for_now(std::string code, std::string message, double retry_after_s) {
    return {.status = 503,
            .type = "unavailable_error",
            .code = std::move(code),
            .message = std::move(message),
            .retry_after_s = std::max(1, static_cast<int>(retry_after_s))};
}

// Exceptions of the libraries below end here: one request fails, the thread goes on.
template <typename Work>
Status guarded(Work work) {
    try {
        return work();
    } catch (const std::exception&) {
        return {Code::OutOfMemory, "no memory for the request"};
    }
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

}  // namespace

struct Scheduler::Entry {
    std::shared_ptr<Job> job;
    std::unique_ptr<engine::AskPlan> plan;  // until the run has it
    std::unique_ptr<AskRun> run;
    base::Stopwatch since;
    std::string client;
    std::size_t n_bytes = 0;
    std::size_t kv_bytes = 0;
    std::string request_id;
    bool encodes_only = false;
    bool is_running = false;
    bool is_late = false;

    [[nodiscard]] bool is_cancelled() const { return job->cancel_flag().load(); }
};

Scheduler::Scheduler(const Engine& engine, const SchedulerOptions& options)
    : engine_(engine), options_(options), thread_([this] { run(); }) {}

Scheduler::~Scheduler() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    drain();
    cancel_all();
    thread_.join();
}

Check Scheduler::submit(Submission submission, std::shared_ptr<Job>& job, PlannedRequest& planned) {
    auto entry = std::make_unique<Entry>();
    entry->n_bytes = picture_bytes(submission.pictures.get());
    entry->client = submission.client;
    entry->request_id = submission.request_id;
    entry->encodes_only = submission.encodes_only;
    entry->job = std::make_shared<Job>(options_.limits, std::move(submission.pictures));
    Job* const its_job = entry->job.get();
    submission.request.cancel = &its_job->cancel_flag();
    submission.request.on_text = [its_job](std::string_view text) { its_job->add_text(text); };
    if (submission.wants_progress) {
        submission.request.on_progress = [its_job](const Progress& progress) {
            its_job->set_progress(progress);
        };
    }
    const engine::EngineState& state = engine_.state();
    auto plan = engine::plan_ask(state, submission.request);
    if (!plan.ok()) return refusal_of(plan.status(), submission.request_id);
    entry->plan = std::move(*plan);
    const std::size_t context = engine_.info().context_length;
    planned.n_prompt = entry->plan->n_prompt();
    planned.n_visual = planned.n_prompt - entry->plan->shape.n_text;
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
    if (!submission.has_max_tokens) max_tokens = options_.limits.max_output_tokens;
    max_tokens = std::min(max_tokens, context - planned.n_prompt);
    planned.max_tokens = max_tokens;
    planned.chosen_class = entry->plan->plan.chosen_class;
    planned.n_kept = planned_kept(*entry->plan);
    entry->kv_bytes = submission.encodes_only ? 0 : entry->plan->kv_bytes(state.text->config());

    const std::lock_guard lock(mutex_);
    CLASP_RETURN_IF_REFUSED(admit(submission, entry->n_bytes, entry->kv_bytes));
    job = entry->job;
    ++per_client_[entry->client];
    waiting_bytes_ += entry->n_bytes;
    (submission.encodes_only ? ahead_ : waiting_).push(submission.client, std::move(entry));
    wake_.notify_one();
    return std::nullopt;
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

void Scheduler::run() {
    for (;;) {
        drop_unwanted();
        if (turn()) continue;
        std::unique_lock lock(mutex_);
        idle_.notify_all();
        if (is_ending_ && waiting_.size() + ahead_.size() == 0) return;
        wake_.wait_for(lock, kGlanceAtQueue,
                       [this] { return is_ending_ || waiting_.size() + ahead_.size() > 0; });
    }
}

bool Scheduler::turn() {
    const bool has_written = write_step();
    const bool has_read = read_units();
    return let_next_in() || has_written || has_read;
}

void Scheduler::drop_unwanted() {
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
    const auto stop_late = [](const EntryPtr& entry) {
        entry->is_late = entry->is_late || entry->job->is_late();
        if (entry->is_late || entry->job->is_stalled()) entry->job->cancel();
    };
    for (const EntryPtr& entry : writing_) stop_late(entry);
    if (reading_ == nullptr) return;
    stop_late(reading_);
    if (reading_->is_cancelled()) fail(std::move(reading_), {Code::Cancelled, "cancelled"});
}

bool Scheduler::write_step() {
    if (writing_.empty()) return false;
    std::vector<AskRun*> runs;
    for (const EntryPtr& entry : writing_) runs.push_back(entry->run.get());
    const base::Stopwatch watch;
    const Status status = guarded([&] { return AskRun::write(*lane_, runs, nullptr); });
    last_step_ms_ = watch.elapsed_ms();
    {
        const std::lock_guard lock(mutex_);
        ++counts_.n_decode_steps;
        counts_.n_decode_tokens += runs.size();
    }
    std::vector<EntryPtr> going;
    for (EntryPtr& entry : writing_) {
        if (!status.ok()) {
            fail(std::move(entry), status);
        } else if (entry->run->phase() == Phase::Done) {
            finish(std::move(entry));
        } else {
            going.push_back(std::move(entry));
        }
    }
    writing_ = std::move(going);
    return true;
}

bool Scheduler::read_units() {
    if (reading_ == nullptr) return false;
    const base::Stopwatch watch;
    // As long as the others' last step took, at least one unit; alone, units go on until somebody writes.
    do {
        run_unit(*reading_);
        if (reading_ == nullptr || reading_->run->phase() != Phase::Read) break;
    } while (!reading_->is_cancelled() && watch.elapsed_ms() < last_step_ms_ && !writing_.empty());
    if (reading_ == nullptr) return true;
    if (reading_->run->phase() == Phase::Done) {
        finish(std::move(reading_));
    } else if (reading_->run->phase() == Phase::Write) {
        writing_.push_back(std::move(reading_));
    }
    return true;
}

void Scheduler::run_unit(Entry& entry) {
    const bool is_seeing = entry.run->phase() == Phase::See;
    const base::Stopwatch watch;
    const Status status = guarded(
        [&] { return is_seeing ? entry.run->see(*lane_) : entry.run->read(*lane_, layers_per_unit_); });
    if (!status.ok()) {
        fail(std::move(reading_), status);
        return;
    }
    if (is_seeing && entry.encodes_only) {
        leave(entry);
        entry.job->finish(Answer{});
        reading_.reset();
    }
    if (is_seeing) return;
    const double per_layer_ms = watch.elapsed_ms() / static_cast<double>(layers_per_unit_);
    const std::size_t n_layers = engine_.info().n_layers;
    const double fitting = per_layer_ms > 0.0 ? kUnitMs / per_layer_ms : static_cast<double>(n_layers);
    layers_per_unit_ = static_cast<std::size_t>(std::clamp(fitting, 1.0, static_cast<double>(n_layers)));
}

FairQueue<Scheduler::EntryPtr>* Scheduler::next_queue() {
    if (waiting_.front() == nullptr) return writing_.empty() && ahead_.front() != nullptr ? &ahead_ : nullptr;
    const bool fits = options_.max_kv_bytes == 0 ||
                      counts_.kv_bytes + (*waiting_.front())->kv_bytes <= options_.max_kv_bytes;
    return fits ? &waiting_ : nullptr;
}

bool Scheduler::let_next_in() {
    if (reading_ != nullptr || writing_.size() >= options_.parallel) return false;
    {
        const std::lock_guard lock(mutex_);
        FairQueue<EntryPtr>* const queue = is_draining_ ? nullptr : next_queue();
        if (queue == nullptr) return false;
        reading_ = std::move(*queue->pop());
        waiting_bytes_ -= reading_->n_bytes;
        counts_.kv_bytes += reading_->kv_bytes;
        ++counts_.n_running;
        reading_->is_running = true;
        running_.push_back(reading_->job);
    }
    reading_->job->start();
    if (lane_ == nullptr) {
        auto lane = engine::Lane::open(engine_.state());
        if (!lane.ok()) {
            fail(std::move(reading_), lane.status());
            return true;
        }
        lane_ = std::move(*lane);
    }
    reading_->run = std::make_unique<AskRun>(engine_.state(), std::move(reading_->plan), reading_->since);
    return true;
}

void Scheduler::leave(Entry& entry) {
    const bool was_cancelled = entry.is_cancelled();
    const double seconds = entry.since.elapsed_ms() / 1000.0;
    entry.run.reset();  // its memory is free before anybody is told
    const std::lock_guard lock(mutex_);
    const auto client = per_client_.find(entry.client);
    if (--client->second == 0) per_client_.erase(client);
    if (was_cancelled) ++counts_.n_cancelled;
    if (!entry.is_running) return;
    std::erase(running_, entry.job);
    counts_.kv_bytes -= entry.kv_bytes;
    --counts_.n_running;
    mean_service_s_ = 0.9 * mean_service_s_ + 0.1 * seconds;
}

void Scheduler::refuse(EntryPtr entry, Refusal refusal) {
    leave(*entry);
    entry->job->finish(std::move(refusal));
}

void Scheduler::fail(EntryPtr entry, const Status& status) {
    const bool is_late = entry->is_late && status.code() == Code::Cancelled;
    const Status cause = is_late ? Status(Code::Deadline, "late") : status;
    Refusal refusal = refusal_of(cause, entry->request_id);
    refuse(std::move(entry), std::move(refusal));
}

void Scheduler::finish(EntryPtr entry) {
    Answer answer = entry->run->take_answer();
    if (entry->is_late && answer.stopped == Stopped::Cancelled) answer.stopped = Stopped::Deadline;
    leave(*entry);
    entry->job->finish(std::move(answer));
}

void Scheduler::cancel_all() {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Job>& job : running_) job->cancel();
}

void Scheduler::drain() {
    const std::lock_guard lock(mutex_);
    is_draining_ = true;
    wake_.notify_all();
}

bool Scheduler::wait_until_idle(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, time,
                          [this] { return counts_.n_running == 0 && waiting_.size() + ahead_.size() == 0; });
}

SchedulerCounts Scheduler::counts() const {
    const std::lock_guard lock(mutex_);
    SchedulerCounts counts = counts_;
    counts.n_waiting = waiting_.size() + ahead_.size();
    return counts;
}

bool Scheduler::is_draining() const {
    const std::lock_guard lock(mutex_);
    return is_draining_;
}

}  // namespace clasp::serve
