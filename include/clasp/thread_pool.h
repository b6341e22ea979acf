// A fixed set of workers for data-parallel loops. Work is cut into numbered parts by the caller, so
// a result can be made independent of the number of threads: let a part's output depend only on its
// number.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace clasp {

// A borrowed callable: no allocation, valid only for the duration of the call it is passed to.
class PartFunction {
   public:
    template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, PartFunction>>>
    PartFunction(F&& f)  // NOLINT(google-explicit-constructor): meant to be made from a lambda in place
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
          call_([](void* object, std::size_t part) {
              (*static_cast<std::remove_reference_t<F>*>(object))(part);
          }) {}

    void operator()(std::size_t part) const { call_(object_, part); }

   private:
    void* object_;
    void (*call_)(void*, std::size_t);
};

class ThreadPool {
   public:
    // n_threads counts the calling thread; 0 means one per processor that this
    // process may use. If the system refuses to
    // start that many, the pool works with those it got (see size()).
    explicit ThreadPool(std::size_t n_threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] std::size_t size() const;

    // Calls f(0) ... f(n_parts - 1), each once, on the workers and the calling thread, and returns
    // when all are done. f must not throw. Calls from several threads take turns; a call from inside
    // f runs its parts in place.
    void run(std::size_t n_parts, PartFunction f);

   private:
    struct State;
    std::unique_ptr<State> state_;
};

// Runs in place when pool is null.
inline void run_parts(ThreadPool* pool, std::size_t n_parts, PartFunction f) {
    if (pool != nullptr) {
        pool->run(n_parts, f);
        return;
    }
    for (std::size_t part = 0; part < n_parts; ++part) f(part);
}

}  // namespace clasp
