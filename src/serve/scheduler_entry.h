// A request in the scheduler's hands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "engine/ask_run.h"
#include "serve/scheduler.h"

namespace clasp::serve {

struct Scheduler::Entry {
    std::shared_ptr<Job> job;
    std::unique_ptr<engine::AskPlan> plan;  // until the run has it
    std::unique_ptr<engine::AskRun> run;
    base::Stopwatch since;
    std::string client;
    std::size_t n_bytes = 0;
    std::size_t kv_bytes = 0;
    std::vector<std::string> pictures;  // their hashes
    std::size_t n_passed = 0;           // by requests that came later
    std::size_t layers_per_unit = 1;
    std::size_t units_at_arrival = 0;  // SchedulerCounts::n_units
    std::string request_id;
    std::vector<OtherAnswer> others;  // that wait for this one's prompt
    bool encodes_only = false;
    bool is_running = false;
    bool is_late = false;
    bool makes_way = false;

    [[nodiscard]] bool is_cancelled() const { return job->cancel_flag().load(); }
};

}  // namespace clasp::serve
