// Watching a model load: how far it is, and whether anybody still waits for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

namespace clasp::model {

struct LoadWatch {
    // The share that is done, from 0 to 1, rising; called on the thread that loads. May be empty.
    std::function<void(double share)> on_progress = {};
    const std::atomic<bool>* cancel = nullptr;  // may be null

    [[nodiscard]] bool is_cancelled() const {
        return cancel != nullptr && cancel->load(std::memory_order_relaxed);
    }
    void tell(double share) const {
        if (on_progress) on_progress(share);
    }
};

// Bytes that several threads have handled, as a stretch of the whole; told on the thread that made it.
class LoadCount {
   public:
    // watch may be null.
    LoadCount(const LoadWatch* watch, double from, double to, std::size_t n_bytes)
        : watch_(watch), from_(from), to_(to), n_bytes_(n_bytes) {}

    // From any thread.
    void add(std::size_t n_bytes) {
        const std::size_t done = done_.fetch_add(n_bytes) + n_bytes;
        if (watch_ == nullptr || n_bytes_ == 0 || std::this_thread::get_id() != owner_) return;
        const double share = static_cast<double>(done) / static_cast<double>(n_bytes_);
        watch_->tell(from_ + (to_ - from_) * (share < 1.0 ? share : 1.0));
    }
    [[nodiscard]] bool is_cancelled() const { return watch_ != nullptr && watch_->is_cancelled(); }

   private:
    const LoadWatch* watch_;
    double from_;
    double to_;
    std::size_t n_bytes_;
    std::atomic<std::size_t> done_{0};
    std::thread::id owner_ = std::this_thread::get_id();
};

}  // namespace clasp::model
