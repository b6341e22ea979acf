// Where graphs run: the devices that ggml knows, the threads of its CPU backend, and schedulers over
// them. No CPU function of ggml is linked directly: all are asked from the registry, so the same code
// works when backends are loaded at run time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_share.h"
#include "clasp/log.h"
#include "clasp/status.h"
#include "ggml-backend.h"
#include "ggml.h"

namespace clasp::model {

// Takes over the log of ggml and libllama, of which there is one in a process, so that they print nothing,
// and loads ggml (model/ggml_libraries.h). Comes before any other call of ggml or libllama that computes. May
// be called any number of times.
Status prepare_ggml();

// Sends what ggml and libllama log on this thread while it lives to a sink, at level Debug: which of their
// lines matter is for them to know, and their warnings are about things that our own checks name better.
class LibraryLog {
   public:
    explicit LibraryLog(LogSink sink);
    ~LibraryLog();
    LibraryLog(const LibraryLog&) = delete;
    LibraryLog& operator=(const LibraryLog&) = delete;

    [[nodiscard]] const LogSink& sink() const { return sink_; }

   private:
    LogSink sink_;
    const LibraryLog* outer_;  // of this thread until now
};

// Collects the error lines that ggml and libllama log on this thread while it lives, whoever else listens.
// One at a time per thread.
class ErrorLines {
   public:
    ErrorLines();
    ~ErrorLines();
    ErrorLines(const ErrorLines&) = delete;
    ErrorLines& operator=(const ErrorLines&) = delete;

    // What they say as one line, without the names of functions; empty when there were none.
    [[nodiscard]] std::string text() const;

   private:
    friend void collect_error_line(std::string_view line);
    std::vector<std::string> lines_;
};

struct ComputeOptions {
    // Of the CPU backend, at most; 0: the processors that this process may use, fewer while the machine is
    // busy. Either way they are shared with other processes that compute at the same time
    // (base/cpu_share.h). More than base::max_threads() are refused.
    std::size_t n_threads = 0;
    bool use_gpu = true;  // take the first GPU that ggml offers; without one this changes nothing
};

// Devices and CPU threads, shared by all models and sessions of a process. Thread safe.
class Compute {
   public:
    static Result<std::shared_ptr<Compute>> create(const ComputeOptions& options = {});
    ~Compute();
    Compute(const Compute&) = delete;
    Compute& operator=(const Compute&) = delete;

    // While one lives, this process counts as one that computes, and shares the processors with others that
    // do. Without one, graphs run on all threads.
    class Work {
       public:
        explicit Work(Compute& compute);
        ~Work();
        Work(const Work&) = delete;
        Work& operator=(const Work&) = delete;

       private:
        Compute& compute_;
    };

    // The most that a graph runs on.
    [[nodiscard]] std::size_t n_threads() const { return n_threads_; }
    // What the next graph should run on. Results do not depend on it.
    [[nodiscard]] std::size_t threads_now();
    [[nodiscard]] ggml_backend_dev_t cpu() const { return cpu_; }
    // Where weights go by default: the GPU if there is one and it was asked for, else the CPU.
    [[nodiscard]] ggml_backend_dev_t device() const { return gpu_ != nullptr ? gpu_ : cpu_; }
    [[nodiscard]] bool has_gpu() const { return gpu_ != nullptr; }
    // Buffer types of the CPU that store weights in a layout of their own (repacked), best first.
    [[nodiscard]] const std::vector<ggml_backend_buffer_type_t>& cpu_extra_buffer_types() const {
        return cpu_extra_buffer_types_;
    }

   private:
    friend class GraphRunner;
    Compute() = default;
    Status start_threads();

    std::size_t n_threads_ = 1;
    std::mutex share_mutex_;
    std::optional<base::CpuShare> share_;
    base::ThreadGovernor governor_;
    bool follows_load_ = false;  // the number of threads was left to us
    std::size_t n_working_ = 0;
    std::size_t shared_threads_ = 1;
    std::chrono::steady_clock::time_point share_asked_ = {};
    ggml_backend_dev_t cpu_ = nullptr;
    ggml_backend_dev_t gpu_ = nullptr;
    std::vector<ggml_backend_buffer_type_t> cpu_extra_buffer_types_;
    ggml_threadpool* threadpool_ = nullptr;
    std::mutex turn_;  // a ggml thread pool runs one graph at a time
};

// Whether a product with a weight [width, rows] of this type in this kind of buffer can run on the device.
bool takes_product(ggml_backend_dev_t device, ggml_backend_buffer_type_t buffer_type, ggml_type type,
                   std::int64_t width, std::int64_t rows);

// Memory for the descriptions of a graph's tensors, reused from graph to graph. The tensors' data are
// allocated by a GraphRunner.
class GraphContext {
   public:
    static Result<GraphContext> create(std::size_t max_nodes);

    // Forgets the graph before and starts an empty one.
    Status reset();
    [[nodiscard]] ggml_context* ggml() const { return context_.get(); }
    [[nodiscard]] ggml_cgraph* graph() const { return graph_; }

   private:
    struct Free {
        void operator()(ggml_context* context) const { ggml_free(context); }
    };
    std::size_t max_nodes_ = 0;
    std::vector<std::byte> memory_;
    std::unique_ptr<ggml_context, Free> context_;
    ggml_cgraph* graph_ = nullptr;
};

using GraphProgress = std::function<void(double share)>;

// While one lives, graphs that its thread computes stop for a moment again and again, after about as many
// operations as a block has, and call it. Other runners may compute meanwhile, also in the call itself, where
// no further pauses are made. False: the graph is given up, and compute() returns Cancelled. Numbers do not
// change.
class PauseScope {
   public:
    using Pause = std::function<bool()>;
    explicit PauseScope(Pause pause);
    ~PauseScope();
    PauseScope(const PauseScope&) = delete;
    PauseScope& operator=(const PauseScope&) = delete;

    // Of this thread; null: graphs are not to pause.
    static const PauseScope* current();
    [[nodiscard]] bool pause() const;

   private:
    Pause pause_;
    const PauseScope* before_;
};

// One session's scheduler. Not thread safe itself; runners over the same Compute may be used from
// different threads, and their CPU work takes turns.
class GraphRunner {
   public:
    static Result<std::unique_ptr<GraphRunner>> create(std::shared_ptr<Compute> compute,
                                                       std::size_t max_nodes);
    ~GraphRunner();
    GraphRunner(const GraphRunner&) = delete;
    GraphRunner& operator=(const GraphRunner&) = delete;

    // Makes room for the largest graph to come, so that later ones allocate nothing.
    Status reserve(ggml_cgraph* graph);
    // Places the graph's tensors; those of the graph before are gone. Then set inputs, then compute().
    // ggml's scheduler would reuse the placement of the graph before whenever node counts and sizes fit,
    // even if the two graphs are wired differently; here a differently wired graph is placed anew.
    Status allocate(ggml_cgraph* graph);
    // Returns Cancelled soon after *cancel becomes true. cancel may be null. progress hears the share of the
    // graph that is done, rising, on the calling thread; the CPU tells it after every operation, a GPU only
    // in the end.
    Status compute(ggml_cgraph* graph, const std::atomic<bool>* cancel = nullptr,
                   const GraphProgress& progress = {});

    [[nodiscard]] Compute& shared() const { return *compute_; }
    // Bytes that the scheduler holds for intermediate tensors.
    [[nodiscard]] std::size_t buffer_bytes() const;

   private:
    GraphRunner() = default;

    std::shared_ptr<Compute> compute_;
    std::vector<ggml_backend_t> backends_;  // the CPU is last
    ggml_backend_set_n_threads_t set_threads_ = nullptr;
    ggml_backend_sched_t scheduler_ = nullptr;
    std::uint64_t placed_wiring_ = 0;  // of the graph that the scheduler's placement is for
    // Called by the CPU backend after every operation; whether to stop.
    bool after_operation();

    // Of the compute() under way.
    const std::atomic<bool>* cancel_ = nullptr;
    const GraphProgress* progress_ = nullptr;
    std::size_t n_operations_ = 0;
    std::size_t n_done_ = 0;
};

}  // namespace clasp::model
