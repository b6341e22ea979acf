#include "serve/scheduler.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/stopwatch.h"
#include "engine/ask_run.h"
#include "engine/engine_state.h"
#include "serve/scheduler_entry.h"

namespace clasp::serve {

namespace {

using engine::AskRun;
using Phase = AskRun::Phase;

// How long a unit of reading should take: short enough for others to write in between.
constexpr double kUnitMs = 150.0;
// How often the thread looks at clocks and cancelled requests while nothing computes.
constexpr std::chrono::milliseconds kGlanceAtQueue{100};

// Exceptions of the libraries below end here: one request fails, the thread goes on.
template <typename Work>
Status guarded(Work work) {
    try {
        return work();
    } catch (const std::exception&) {
        return {Code::OutOfMemory, "no memory for the request"};
    }
}

// Whether nothing of the prompt is left to see or to read.
bool is_read(const AskRun& run) {
    return run.phase() != Phase::See && run.phase() != Phase::Read;
}

}  // namespace

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

void Scheduler::run() {
    for (;;) {
        drop_unwanted();
        if (turn()) continue;
        if (lane_ != nullptr) {
            (void)guarded([this] {
                engine::learn_decoder_times(engine_.state(), *lane_);
                return ok_status();
            });
        }
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
    drop_waiting();
    stop_late();
    drop_if_cancelled(reading_);
    drop_if_cancelled(aside_);
}

void Scheduler::drop_if_cancelled(EntryPtr& entry) {
    if (entry != nullptr && entry->is_cancelled()) fail(std::move(entry), {Code::Cancelled, "cancelled"});
}

void Scheduler::stop_late() {
    const auto stop = [](Entry& entry) {
        entry.is_late = entry.is_late || entry.job->is_late();
        if (entry.is_late || entry.job->is_stalled()) entry.job->cancel();
    };
    for (const EntryPtr& entry : writing_) stop(*entry);
    if (reading_ != nullptr) stop(*reading_);
    if (aside_ != nullptr) stop(*aside_);
}

bool Scheduler::write_step() {
    if (writing_.empty()) return false;
    std::vector<AskRun*> runs;
    for (const EntryPtr& entry : writing_) runs.push_back(entry->run.get());
    const base::Stopwatch watch;
    const Status status = guarded([&] { return AskRun::write(*lane_, runs, nullptr); });
    last_step_ms_ = watch.elapsed_ms();
    since_step_ = {};
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
    if (is_read(*reading_->run)) {  // and there was no place for it to write
        settle(reading_);
        return reading_ == nullptr;
    }
    const base::Stopwatch watch;
    // As long as the others' last step took, at least one unit; alone, units go on until somebody writes.
    do {
        read_aside();
        run_unit(reading_);
        if (reading_ == nullptr || reading_->run->phase() != Phase::Read) break;
    } while (!reading_->is_cancelled() && watch.elapsed_ms() < last_step_ms_ && !writing_.empty());
    if (reading_ != nullptr) settle(reading_);
    return true;
}

void Scheduler::settle(EntryPtr& entry) {
    if (!is_read(*entry->run)) return;
    if (entry->run->phase() == Phase::Write && writing_.size() >= options_.parallel) return;
    part_ways(*entry);
    if (entry->run->phase() == Phase::Done) {
        finish(std::move(entry));
    } else {
        writing_.push_back(std::move(entry));
    }
}

bool Scheduler::let_aside_in() {
    if (reading_->encodes_only || reading_->pictures.empty()) return false;
    // Where one writes at a time, there is a place beside the one that is read all the same: words are read
    // in no time, and would otherwise wait for a picture that takes long.
    if (writing_.size() + 1 >= std::max<std::size_t>(options_.parallel, 2)) return false;
    {
        const std::lock_guard lock(mutex_);
        if (is_draining_) return false;
        auto found = waiting_.pop_if(
            [this](const EntryPtr& entry) { return entry->pictures.empty() && fits(*entry); });
        if (!found) return false;
        aside_ = std::move(*found);
    }
    return begin(aside_);
}

void Scheduler::read_aside() {
    drop_if_cancelled(aside_);
    if (aside_ == nullptr && !let_aside_in()) return;
    // For as long as one unit may take, so that words which come together do not wait for each other.
    const base::Stopwatch watch;
    while (aside_ != nullptr && !is_read(*aside_->run) && watch.elapsed_ms() < kUnitMs) run_unit(aside_);
    if (aside_ != nullptr) settle(aside_);
}

void Scheduler::run_unit(EntryPtr& entry) {
    const bool is_seeing = entry->run->phase() == Phase::See;
    const bool is_first = entry == reading_;
    const base::Stopwatch watch;
    const Status status = guarded([&] {
        if (!is_seeing) return entry->run->read(*lane_, entry->layers_per_unit);
        return is_first ? entry->run->see(*lane_, [this] { return breathe(); }) : entry->run->see(*lane_);
    });
    if (!status.ok() && entry->makes_way && !entry->is_cancelled()) {
        put_back();
        return;
    }
    if (!status.ok()) {
        fail(std::move(entry), status);
        return;
    }
    if (is_first) count_unit();
    if (is_seeing) {
        const std::lock_guard lock(mutex_);
        for (const std::string& picture : entry->pictures) {
            std::erase(encoded_, picture);
            encoded_.push_back(picture);
        }
        while (encoded_.size() > options_.cached_images) encoded_.pop_front();
    }
    if (is_seeing && entry->encodes_only) {
        leave(*entry);
        entry->job->finish(Answer{});
        entry.reset();
    }
    if (is_seeing) return;
    const double per_layer_ms = watch.elapsed_ms() / static_cast<double>(entry->layers_per_unit);
    const std::size_t n_layers = engine_.info().n_layers;
    const double fitting = per_layer_ms > 0.0 ? kUnitMs / per_layer_ms : static_cast<double>(n_layers);
    // What came first may have cost little, where a beginning was known; so no more than twice as many.
    const double most = 2.0 * static_cast<double>(entry->layers_per_unit);
    entry->layers_per_unit =
        static_cast<std::size_t>(std::clamp(fitting, 1.0, std::min(most, static_cast<double>(n_layers))));
}

void Scheduler::count_unit() {
    const std::lock_guard lock(mutex_);
    ++counts_.n_units;
}

bool Scheduler::breathe() {
    count_unit();
    drop_waiting();
    stop_late();
    if (!writing_.empty() && since_step_.elapsed_ms() >= last_step_ms_) {
        write_step();
        const std::lock_guard lock(mutex_);
        ++counts_.n_steps_between_blocks;
    }
    read_aside();
    if (!reading_->encodes_only || writing_.size() >= options_.parallel) return true;
    const std::lock_guard lock(mutex_);
    const EntryPtr* const next = is_draining_ ? nullptr : waiting_.front();
    // A question about the very picture has to wait for it in any case.
    reading_->makes_way =
        next != nullptr && next_queue() == &waiting_ && !(*next)->job->shares_picture(*reading_->job);
    return !reading_->makes_way;
}

void Scheduler::put_back() {
    EntryPtr entry = std::move(reading_);
    entry->plan = entry->run->take_plan();
    entry->run.reset();
    entry->makes_way = false;
    entry->is_running = false;
    const std::lock_guard lock(mutex_);
    std::erase(running_, entry->job);
    --counts_.n_running;
    ++counts_.n_put_back;
    waiting_bytes_ += entry->n_bytes;
    const std::string client = entry->client;
    ahead_.push(client, std::move(entry));
}

void Scheduler::part_ways(Entry& entry) {
    std::vector<std::unique_ptr<AskRun>> runs = entry.run->take_others();
    const std::size_t kv_bytes = entry.kv_bytes / (1 + entry.others.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        auto other = std::make_unique<Entry>();
        other->job = entry.others[i].job;
        other->run = std::move(runs[i]);
        other->since = entry.since;
        other->client = entry.client;
        other->kv_bytes = kv_bytes;
        other->request_id = entry.request_id;
        other->is_running = true;
        other->job->start();
        {
            const std::lock_guard lock(mutex_);
            ++per_client_[other->client];
            ++counts_.n_running;
            running_.push_back(other->job);
        }
        if (other->run->phase() == Phase::Done) {
            finish(std::move(other));
        } else {
            writing_.push_back(std::move(other));
        }
    }
    if (!runs.empty()) entry.kv_bytes = kv_bytes;
    entry.others.clear();
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
    for (const OtherAnswer& other : entry->others) other.job->finish(refusal);
    entry->job->finish(std::move(refusal));
}

void Scheduler::fail(EntryPtr entry, const Status& status) {
    const bool is_late = entry->is_late && status.code() == Code::Cancelled;
    const Status cause = is_late ? Status(Code::Deadline, "late") : status;
    Refusal refusal = note_failure(refusal_of(cause, entry->request_id), cause, entry->request_id);
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
