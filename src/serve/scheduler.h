// One thread owns the engine. Requests that write go first, all of them one token in one graph; then the one
// request that is being read gets its share of the time, some layers at once, because a stage has to see the
// whole prompt; then the next one is let in. While pictures are encoded, the others write between the blocks
// of the tower. Pictures that were sent ahead of their question are encoded when nobody waits; one that comes
// meanwhile with another picture goes first.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
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
    // Requests that are read or written at a time. Even with one a question in text alone is read beside one
    // about pictures; the two are not written at a time.
    std::size_t parallel = 1;
    // Bytes of keys and values of all of them; 0: no limit.
    std::size_t max_kv_bytes = 0;
    std::size_t cached_images = 8;  // that the engine keeps
    std::size_t context = 0;        // tokens of a prompt and its answer; 0: as many as the model has
    RequestLimits limits = {};
    LogSink log = {};  // what a client is not told
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

// Another answer to the same prompt, which is read once.
struct OtherAnswer {
    std::uint32_t seed = 0;
    std::function<void(const WrittenToken& token)> on_token = {};
    std::shared_ptr<Job> job = {};  // submit() makes it
};

struct Submission {
    AskRequest request = {};                                      // borrows from pictures
    std::shared_ptr<const std::list<std::string>> pictures = {};  // encoded bytes; may be null
    std::string client = {};      // whose turns it takes: a key's hash, or an address
    bool has_max_tokens = false;  // false: as long as the context and the limit allow
    bool has_budget = false;      // the request itself names one, and it has to be one that there can be
    bool wants_progress = false;
    // Its pictures alone, for questions to come, when there is nothing else to do; the answer is empty.
    bool encodes_only = false;
    std::string request_id = {};
    std::vector<OtherAnswer>* others = nullptr;  // borrowed for the call; may be null
};

struct SchedulerCounts {
    std::size_t n_waiting = 0;
    std::size_t n_running = 0;
    std::size_t kv_bytes = 0;  // of those that run
    std::size_t n_decode_steps = 0;
    std::size_t n_decode_tokens = 0;
    std::size_t n_steps_between_blocks = 0;  // of the decode steps, while a picture was encoded
    std::size_t n_put_back = 0;              // pictures sent ahead that made way
    std::size_t n_cancelled = 0;
    // Pieces in which requests were read: a block of a tower, or some layers of the decoder.
    std::size_t n_units = 0;
    std::size_t most_units_before_text = 0;  // that a question in text alone has waited for
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

    // The same, for what went wrong with a request.
    Refusal note_failure(Refusal refusal, const Status& status, const std::string& request_id) const;
    Check admit(const Submission& submission, std::size_t n_bytes, std::size_t kv_bytes);
    void run();
    // One round of the loop; false: there is nothing to do.
    bool turn();
    void drop_unwanted();
    void drop_waiting();
    void stop_late();
    bool write_step();
    bool read_units();
    bool let_next_in();
    // The queue that the next request comes from; null when there is none for now.
    FairQueue<EntryPtr>* next_queue();
    // Under the lock: the next one of that queue. A request that has nothing to encode passes one that has.
    EntryPtr take_from(FairQueue<EntryPtr>& queue);
    // Under the lock: whether its share of the memory is free.
    [[nodiscard]] bool fits(const Entry& entry) const;
    // Under the lock: whether its pictures, if it has any, were encoded lately.
    [[nodiscard]] bool is_encoded(const Entry& entry) const;
    // From the queue to where it runs. False: it failed at once.
    bool begin(EntryPtr& entry);
    // Reads a question in text alone between the pieces of one about pictures.
    void read_aside();
    bool let_aside_in();
    void run_unit(EntryPtr& entry);
    void count_unit();
    // Read to its end: it writes as soon as there is a place, or is done.
    void settle(EntryPtr& entry);
    void drop_if_cancelled(EntryPtr& entry);
    // Between two blocks of a tower; false: the picture has to make way.
    bool breathe();
    void put_back();
    // The other answers to a prompt that was read, as entries of their own.
    void part_ways(Entry& entry);
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
    std::deque<std::string> encoded_;                // hashes of pictures, the latest ones
    std::map<std::string, std::size_t> per_client_;  // that wait or run
    std::vector<std::shared_ptr<Job>> running_;
    SchedulerCounts counts_;
    double mean_service_s_ = 1.0;
    bool is_draining_ = false;
    bool is_ending_ = false;

    // Of the thread alone.
    EntryPtr reading_;
    EntryPtr aside_;  // a question in text alone that is read meanwhile
    std::vector<EntryPtr> writing_;
    double last_step_ms_ = 0.0;
    base::Stopwatch since_step_;

    std::thread thread_;
};

}  // namespace clasp::serve
