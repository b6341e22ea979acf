// One thread owns the engine. Requests that write go first, all of them one token in one graph; then the one
// request that is being read gets its share of the time, some layers at once, because a stage has to see the
// whole prompt; then the next one is let in.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "clasp/engine.h"
#include "serve/job.h"
#include "serve/limits.h"
#include "serve/queue.h"
#include "serve/refusal.h"

namespace clasp::engine {
class AskRun;
class Lane;
struct AskPlan;
}  // namespace clasp::engine

namespace clasp::serve {

struct SchedulerOptions {
    std::size_t parallel = 1;  // requests that are read or written at a time
    // Bytes of keys and values of all of them; 0: no limit.
    std::size_t max_kv_bytes = 0;
    RequestLimits limits = {};
};

// What is known of a request once it is planned.
struct PlannedRequest {
    std::size_t n_prompt = 0;  // tokens with nothing pruned
    std::size_t n_visual = 0;  // of these, those of pictures
    std::size_t max_tokens = 0;
    ClassChoice chosen_class = {};
    // Visual tokens that are left in the end; nothing where the method decides later.
    std::optional<std::size_t> n_kept = std::nullopt;
};

struct Submission {
    AskRequest request = {};                                      // borrows from pictures
    std::shared_ptr<const std::list<std::string>> pictures = {};  // encoded bytes; may be null
    std::string client = {};      // whose turns it takes: a key's hash, or an address
    bool has_max_tokens = false;  // false: as long as the context and the limit allow
    bool wants_progress = false;
    // Its pictures alone, for questions to come, when there is nothing else to do; the answer is empty.
    bool encodes_only = false;
    std::string request_id = {};
};

struct SchedulerCounts {
    std::size_t n_waiting = 0;
    std::size_t n_running = 0;
    std::size_t kv_bytes = 0;  // of those that run
    std::size_t n_decode_steps = 0;
    std::size_t n_decode_tokens = 0;
    std::size_t n_cancelled = 0;
};

class Scheduler {
   public:
    // The engine must outlive it.
    Scheduler(const Engine& engine, const SchedulerOptions& options);
    // Cancels what is left.
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Plans a request on the calling thread and queues it; whatever it can be refused for is told here.
    Check submit(Submission submission, std::shared_ptr<Job>& job, PlannedRequest& planned);

    // From now on nothing is taken in, and what waits is refused; what runs goes on.
    void drain();
    // Whether nothing runs any more; waits for it up to the time.
    bool wait_until_idle(std::chrono::milliseconds time);
    // Gives everything up that runs.
    void cancel_all();

    [[nodiscard]] SchedulerCounts counts() const;
    [[nodiscard]] bool is_draining() const;

   private:
    struct Entry;
    using EntryPtr = std::unique_ptr<Entry>;

    Check admit(const Submission& submission, std::size_t n_bytes, std::size_t kv_bytes);
    void run();
    // One round of the loop; false: there is nothing to do.
    bool turn();
    void drop_unwanted();
    bool write_step();
    bool read_units();
    bool let_next_in();
    // The queue that the next request comes from; null when there is none for now.
    FairQueue<EntryPtr>* next_queue();
    void run_unit(Entry& entry);
    void fail(EntryPtr entry, const Status& status);
    void refuse(EntryPtr entry, Refusal refusal);
    void finish(EntryPtr entry);
    void leave(Entry& entry);

    const Engine& engine_;
    const SchedulerOptions options_;
    std::unique_ptr<engine::Lane> lane_;  // of the thread

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    FairQueue<EntryPtr> waiting_;
    FairQueue<EntryPtr> ahead_;  // pictures to encode when nobody waits
    std::size_t waiting_bytes_ = 0;
    std::map<std::string, std::size_t> per_client_;  // that wait or run
    std::vector<std::shared_ptr<Job>> running_;
    SchedulerCounts counts_;
    double mean_service_s_ = 1.0;
    bool is_draining_ = false;
    bool is_ending_ = false;

    // Of the thread alone.
    EntryPtr reading_;
    std::vector<EntryPtr> writing_;
    double last_step_ms_ = 0.0;
    std::size_t layers_per_unit_ = 1;

    std::thread thread_;
};

}  // namespace clasp::serve
