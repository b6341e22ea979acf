// Requests that run, as llama-server tells of its slots: how far they are, never what they say. Here a slot
// is no more than a number that a request has while it runs.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "base/json.h"
#include "serve/job.h"
#include "serve/scheduler.h"
#include "serve/token_log.h"

namespace clasp::serve {

// Thread safe.
class Slots {
   public:
    // n_slots: requests that run at a time. n_context: tokens that one may have.
    Slots(std::size_t n_slots, std::size_t n_context) : n_slots_(n_slots), n_context_(n_context) {}

    // A request that waits or runs; it is forgotten once it is over.
    void add(std::shared_ptr<Job> job, std::shared_ptr<TokenLog> tokens, const PlannedRequest& planned);
    [[nodiscard]] base::Json json();

   private:
    struct Watched {
        std::shared_ptr<Job> job;
        std::shared_ptr<TokenLog> tokens;
        PlannedRequest planned;
        std::size_t task = 0;               // its number among all requests
        std::optional<std::size_t> number;  // of its slot, once somebody saw it run
    };

    void forget_ended();
    [[nodiscard]] base::Json slot_json(std::size_t number, const Watched* watched) const;

    const std::size_t n_slots_;
    const std::size_t n_context_;
    std::mutex mutex_;
    std::list<Watched> watched_;
    std::size_t n_tasks_ = 0;
};

}  // namespace clasp::serve
