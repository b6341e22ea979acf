#include "clasp/thread_pool.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cpu_share.h"

namespace clasp {

namespace {
thread_local bool inside_part = false;
}  // namespace

struct ThreadPool::State {
    std::mutex run_mutex;  // one run() at a time

    std::mutex mutex;
    std::condition_variable work_ready;
    std::condition_variable work_done;
    const PartFunction* function = nullptr;  // set while a run is under way
    std::size_t n_parts = 0;
    std::size_t generation = 0;
    std::size_t n_busy = 0;  // workers that still have to leave the current run
    bool stopping = false;
    std::atomic<std::size_t> next_part{0};
    std::vector<std::thread> workers;

    void take_parts(const PartFunction& f, std::size_t count) {
        inside_part = true;
        for (std::size_t part = next_part++; part < count; part = next_part++) f(part);
        inside_part = false;
    }

    void work() {
        std::size_t seen = 0;
        std::unique_lock lock(mutex);
        while (true) {
            work_ready.wait(lock, [&] { return stopping || generation != seen; });
            if (stopping) return;
            seen = generation;
            const PartFunction* f = function;
            const std::size_t count = n_parts;
            lock.unlock();
            take_parts(*f, count);
            lock.lock();
            if (--n_busy == 0) work_done.notify_one();
        }
    }
};

ThreadPool::ThreadPool(std::size_t n_threads) : state_(std::make_unique<State>()) {
    if (n_threads == 0) n_threads = base::usable_cpus();
    state_->workers.reserve(n_threads - 1);
    for (std::size_t i = 1; i < n_threads; ++i) {
        try {
            state_->workers.emplace_back([state = state_.get()] { state->work(); });
        } catch (const std::system_error&) {
            break;  // the system has no more threads to give; size() tells how many there are
        }
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
    }
    state_->work_ready.notify_all();
    for (std::thread& worker : state_->workers) worker.join();
}

std::size_t ThreadPool::size() const {
    return state_->workers.size() + 1;
}

void ThreadPool::run(std::size_t n_parts, PartFunction f) {
    if (inside_part || n_parts <= 1 || state_->workers.empty()) {
        for (std::size_t part = 0; part < n_parts; ++part) f(part);
        return;
    }
    const std::lock_guard run_lock(state_->run_mutex);
    {
        const std::lock_guard lock(state_->mutex);
        state_->function = &f;
        state_->n_parts = n_parts;
        state_->next_part = 0;
        state_->n_busy = state_->workers.size();
        ++state_->generation;
    }
    state_->work_ready.notify_all();
    state_->take_parts(f, n_parts);
    std::unique_lock lock(state_->mutex);
    state_->work_done.wait(lock, [&] { return state_->n_busy == 0; });
    state_->function = nullptr;
}

}  // namespace clasp
