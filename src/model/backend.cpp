#include "model/backend.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/kernel_limit.h"
#include "base/text.h"
#include "clasp/thread_pool.h"
#include "llama.h"
#include "model/ggml_libraries.h"
#include "model/kernel_set.h"

namespace clasp::model {

namespace {

// Every CPU function that is needed, by the name under which the CPU registry offers it.
template <typename Function>
Function cpu_function(ggml_backend_dev_t cpu, const char* name) {
    return reinterpret_cast<Function>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), name));
}

using NewThreadpool = ggml_threadpool* (*)(ggml_threadpool_params*);
using FreeThreadpool = void (*)(ggml_threadpool*);
using SetThreadpool = void (*)(ggml_backend_t, ggml_threadpool*);

// How long a thread without work spins before it sleeps, in ggml's units of about 131,000 pauses: a few
// milliseconds, enough to bridge the time between two graphs of a decoder.
constexpr std::uint32_t kPollLevel = 1;

thread_local ErrorLines* error_lines = nullptr;
thread_local const LibraryLog* library_log = nullptr;

}  // namespace

void collect_error_line(std::string_view line) {
    constexpr std::size_t kMaxLines = 8;
    if (error_lines != nullptr && error_lines->lines_.size() < kMaxLines)
        error_lines->lines_.emplace_back(line);
}

namespace {

void forward_log(ggml_log_level level, const char* text, void* /*user*/) {
    if (text == nullptr) return;
    if (level == GGML_LOG_LEVEL_ERROR) collect_error_line(text);
    if (library_log == nullptr) return;
    std::string_view line(text);
    while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    if (!line.empty()) log(library_log->sink(), LogLevel::Debug, "llama.cpp: " + std::string(line));
}

// A number for how a graph is wired: operations, operands, what is allocated already, what must survive.
// Sizes are left out: ggml checks those itself.
std::uint64_t wiring_of(ggml_cgraph* graph) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    const auto add = [&hash](std::uint64_t value) {
        hash = (hash ^ value) * 0x100000001B3ULL;
        hash ^= hash >> 29;
    };
    const auto add_tensor = [&add](const ggml_tensor* tensor) {
        add(reinterpret_cast<std::uintptr_t>(tensor));
        if (tensor == nullptr) return;
        add(static_cast<std::uint64_t>(tensor->op));
        add(static_cast<std::uint64_t>(tensor->flags));
        add(reinterpret_cast<std::uintptr_t>(tensor->view_src));
        add(static_cast<std::uint64_t>(tensor->buffer != nullptr));
    };
    const int n_nodes = ggml_graph_n_nodes(graph);
    add(static_cast<std::uint64_t>(n_nodes));
    for (int i = 0; i < n_nodes; ++i) {
        const ggml_tensor* node = ggml_graph_node(graph, i);
        add_tensor(node);
        for (const ggml_tensor* operand : node->src) add_tensor(operand);
    }
    return hash;
}

// Nodes that compute something; the others only look at memory in another way.
std::size_t count_operations(ggml_cgraph* graph) {
    std::size_t n = 0;
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        const ggml_op op = ggml_graph_node(graph, i)->op;
        const bool is_view = op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW ||
                             op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
        if (!is_view) ++n;
    }
    return n;
}

}  // namespace

Status prepare_ggml() {
    static std::once_flag once;
    std::call_once(once, [] {
        llama_log_set(forward_log, nullptr);  // sets that of ggml too
        keep_debuggers_away();
    });
    return load_ggml();
}

LibraryLog::LibraryLog(LogSink sink) : sink_(std::move(sink)), outer_(library_log) {
    library_log = this;
}

LibraryLog::~LibraryLog() {
    library_log = outer_;
}

ErrorLines::ErrorLines() {
    error_lines = this;
}

ErrorLines::~ErrorLines() {
    error_lines = nullptr;
}

std::string ErrorLines::text() const {
    constexpr std::size_t kLongest = 400;
    constexpr std::array<std::string_view, 2> kPrefixes = {"error loading model: ", "failed to load model"};
    std::string all;
    for (const std::string& line : lines_) {
        std::string_view rest = line;
        while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
        // "function: what happened"
        const std::size_t colon = rest.find(": ");
        if (colon != std::string_view::npos && rest.substr(0, colon).find(' ') == std::string_view::npos) {
            rest.remove_prefix(colon + 2);
        }
        for (const std::string_view prefix : kPrefixes) {
            if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
        }
        if (rest.empty()) continue;
        if (!all.empty()) all += "; ";
        all += rest;
    }
    return base::escaped(all, kLongest);
}

Result<std::shared_ptr<Compute>> Compute::create(const ComputeOptions& options) {
    if (const std::string names = wrong_kernel_limit(); !names.empty()) {
        return Status(Code::InvalidArgument, std::string(base::kKernelLimit) + " can be " + names);
    }
    CLASP_RETURN_IF_ERROR(prepare_ggml());
    const std::shared_ptr<Compute> compute(new Compute());
    compute->cpu_ = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (options.use_gpu) {
        compute->gpu_ = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
        if (compute->gpu_ == nullptr) compute->gpu_ = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
    }

    const std::size_t cpus = base::usable_cpus();
    const std::size_t limit = std::min<std::size_t>(base::max_threads(), GGML_MAX_N_THREADS);
    if (options.n_threads > limit) {
        return Status(Code::InvalidArgument,
                      std::to_string(options.n_threads) + " threads are too many for the " +
                          std::to_string(cpus) + (cpus == 1 ? " processor" : " processors") +
                          " that this process may use; the limit is " + std::to_string(limit));
    }
    compute->n_threads_ = options.n_threads != 0 ? options.n_threads : std::min(cpus, limit);
    compute->follows_load_ = options.n_threads == 0;
    compute->shared_threads_ = compute->n_threads_;
    compute->share_.emplace(cpus);
    CLASP_RETURN_IF_ERROR(compute->start_threads());

    const auto extra_types =
        cpu_function<ggml_backend_dev_get_extra_bufts_t>(compute->cpu_, "ggml_backend_dev_get_extra_bufts");
    if (extra_types != nullptr) {
        for (ggml_backend_buffer_type_t* type = extra_types(compute->cpu_);
             type != nullptr && *type != nullptr; ++type) {
            compute->cpu_extra_buffer_types_.push_back(*type);
        }
    }
    return compute;
}

Status Compute::start_threads() {
    const auto new_threadpool = cpu_function<NewThreadpool>(cpu_, "ggml_threadpool_new");
    if (new_threadpool == nullptr) return ok_status();
    // ggml aborts when the system refuses a thread, so we ask first.
    const std::size_t granted = ThreadPool(n_threads_).size();
    if (granted < n_threads_) {
        return {Code::Unavailable, "the system gives this process no more than " + std::to_string(granted) +
                                       " of " + std::to_string(n_threads_) + " threads"};
    }
    ggml_threadpool_params params = ggml_threadpool_params_default(static_cast<int>(n_threads_));
    params.poll = kPollLevel;
    threadpool_ = new_threadpool(&params);
    return ok_status();
}

Compute::Work::Work(Compute& compute) : compute_(compute) {
    const std::lock_guard lock(compute_.share_mutex_);
    if (compute_.n_working_++ > 0) return;
    compute_.share_->enter();
    compute_.share_asked_ = {};
}

Compute::Work::~Work() {
    const std::lock_guard lock(compute_.share_mutex_);
    if (--compute_.n_working_ == 0) compute_.share_->leave();
}

std::size_t Compute::threads_now() {
    constexpr auto kInterval = std::chrono::milliseconds(20);
    const std::lock_guard lock(share_mutex_);
    if (n_working_ == 0) return n_threads_;
    const auto now = std::chrono::steady_clock::now();
    if (now - share_asked_ >= kInterval) {
        share_asked_ = now;
        // Threads that wait for one another spin: more of them than processors would hardly ever end.
        const std::size_t share = std::min(n_threads_, share_->threads());
        shared_threads_ = follows_load_ ? governor_.threads(share, base::waiting_share(), now) : share;
    }
    return shared_threads_;
}

Compute::~Compute() {
    if (threadpool_ == nullptr) return;
    const auto free_threadpool = cpu_function<FreeThreadpool>(cpu_, "ggml_threadpool_free");
    if (free_threadpool != nullptr) free_threadpool(threadpool_);
}

bool takes_product(ggml_backend_dev_t device, ggml_backend_buffer_type_t buffer_type, ggml_type type,
                   std::int64_t width, std::int64_t rows) {
    ggml_context* context =
        ggml_init({.mem_size = ggml_tensor_overhead() * 8, .mem_buffer = nullptr, .no_alloc = true});
    if (context == nullptr) return false;
    ggml_tensor* weight = ggml_new_tensor_2d(context, type, width, rows);
    ggml_tensor* input = ggml_new_tensor_2d(context, GGML_TYPE_F32, width, 512);
    ggml_tensor* product = ggml_mul_mat(context, weight, input);
    // Whether a kernel applies depends on the buffer that holds the weight, so it gets an empty one.
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(buffer_type, 0);
    bool supported = false;
    if (buffer != nullptr) {
        weight->buffer = buffer;
        supported = ggml_backend_dev_supports_op(device, product);
        ggml_backend_buffer_free(buffer);
    }
    ggml_free(context);
    return supported;
}

Result<GraphContext> GraphContext::create(std::size_t max_nodes) {
    GraphContext context;
    context.max_nodes_ = max_nodes;
    context.memory_.resize(ggml_tensor_overhead() * max_nodes + ggml_graph_overhead_custom(max_nodes, false));
    CLASP_RETURN_IF_ERROR(context.reset());
    return context;
}

Status GraphContext::reset() {
    context_.reset();
    context_.reset(ggml_init({.mem_size = memory_.size(), .mem_buffer = memory_.data(), .no_alloc = true}));
    if (context_ == nullptr) return {Code::OutOfMemory, "no memory for the description of a graph"};
    graph_ = ggml_new_graph_custom(context_.get(), max_nodes_, false);
    return ok_status();
}

Result<std::unique_ptr<GraphRunner>> GraphRunner::create(std::shared_ptr<Compute> compute,
                                                         std::size_t max_nodes) {
    std::unique_ptr<GraphRunner> runner(new GraphRunner());
    runner->compute_ = std::move(compute);
    Compute& shared = *runner->compute_;
    if (shared.gpu_ != nullptr) {
        ggml_backend_t gpu = ggml_backend_dev_init(shared.gpu_, nullptr);
        if (gpu == nullptr) {
            return Status(Code::Unavailable, std::string("the device ") + ggml_backend_dev_name(shared.gpu_) +
                                                 " could not be started");
        }
        runner->backends_.push_back(gpu);
    }
    ggml_backend_t cpu = ggml_backend_dev_init(shared.cpu_, nullptr);
    if (cpu == nullptr) return Status(Code::OutOfMemory, "the CPU backend of ggml could not be started");
    runner->backends_.push_back(cpu);

    runner->set_threads_ =
        cpu_function<ggml_backend_set_n_threads_t>(shared.cpu_, "ggml_backend_set_n_threads");
    const auto set_threadpool = cpu_function<SetThreadpool>(shared.cpu_, "ggml_backend_cpu_set_threadpool");
    if (set_threadpool != nullptr && shared.threadpool_ != nullptr) set_threadpool(cpu, shared.threadpool_);
    const auto set_abort =
        cpu_function<ggml_backend_set_abort_callback_t>(shared.cpu_, "ggml_backend_set_abort_callback");
    if (set_abort != nullptr) {
        set_abort(
            cpu, [](void* user) { return static_cast<GraphRunner*>(user)->after_operation(); }, runner.get());
    }

    runner->scheduler_ =
        ggml_backend_sched_new(runner->backends_.data(), nullptr, static_cast<int>(runner->backends_.size()),
                               max_nodes, false, true);
    if (runner->scheduler_ == nullptr) return Status(Code::OutOfMemory, "no memory for a scheduler");
    return runner;
}

GraphRunner::~GraphRunner() {
    if (scheduler_ != nullptr) ggml_backend_sched_free(scheduler_);
    for (ggml_backend_t backend : backends_) ggml_backend_free(backend);
}

Status GraphRunner::reserve(ggml_cgraph* graph) {
    placed_wiring_ = 0;
    ggml_backend_sched_reset(scheduler_);
    if (!ggml_backend_sched_reserve(scheduler_, graph)) {
        return {Code::OutOfMemory, "no memory for the intermediate results of a graph"};
    }
    return ok_status();
}

Status GraphRunner::allocate(ggml_cgraph* graph) {
    const std::uint64_t wiring = wiring_of(graph);
    if (wiring != placed_wiring_) {
        CLASP_RETURN_IF_ERROR(reserve(graph));
        placed_wiring_ = wiring;
    }
    ggml_backend_sched_reset(scheduler_);
    if (!ggml_backend_sched_alloc_graph(scheduler_, graph)) {
        return {Code::OutOfMemory, "no memory for the intermediate results of a graph"};
    }
    return ok_status();
}

bool GraphRunner::after_operation() {
    if (progress_ != nullptr && n_done_ < n_operations_) {
        ++n_done_;
        (*progress_)(static_cast<double>(n_done_) / static_cast<double>(n_operations_));
    }
    return cancel_ != nullptr && cancel_->load(std::memory_order_relaxed);
}

namespace {

thread_local const PauseScope* pause_here = nullptr;

// So many operations are about a block of a vision tower.
constexpr std::size_t kOperationsPerPause = 32;

// A graph with pauses: what ggml's scheduler calls.
struct Pausing {
    const PauseScope& scope;
    std::unique_lock<std::mutex>& turn;  // others may compute in a pause
    std::size_t n_seen = 0;
    bool is_given_up = false;

    // First asked about every operation whether it wants to hear of it, then called when that is done.
    static bool call(ggml_tensor* /*operation*/, bool asks, void* user) {
        auto& self = *static_cast<Pausing*>(user);
        if (asks) return ++self.n_seen % kOperationsPerPause == 0;
        self.turn.unlock();
        self.is_given_up = !self.scope.pause();
        self.turn.lock();
        return !self.is_given_up;
    }
};

}  // namespace

PauseScope::PauseScope(Pause pause) : pause_(std::move(pause)), before_(pause_here) {
    pause_here = this;
}

PauseScope::~PauseScope() {
    pause_here = before_;
}

const PauseScope* PauseScope::current() {
    return pause_here;
}

bool PauseScope::pause() const {
    pause_here = nullptr;
    const bool goes_on = pause_();
    pause_here = this;
    return goes_on;
}

Status GraphRunner::compute(ggml_cgraph* graph, const std::atomic<bool>* cancel,
                            const GraphProgress& progress) {
    std::unique_lock turn(compute_->turn_);
    cancel_ = cancel;
    if (set_threads_ != nullptr) set_threads_(backends_.back(), static_cast<int>(compute_->threads_now()));
    progress_ = progress ? &progress : nullptr;
    n_done_ = 0;
    n_operations_ = progress ? count_operations(graph) : 0;
    std::optional<Pausing> pausing;
    if (PauseScope::current() != nullptr) {
        pausing.emplace(Pausing{*PauseScope::current(), turn});
        ggml_backend_sched_set_eval_callback(scheduler_, Pausing::call, &*pausing);
    }
    ggml_status status = ggml_backend_sched_graph_compute(scheduler_, graph);
    if (pausing) {
        ggml_backend_sched_set_eval_callback(scheduler_, nullptr, nullptr);
        if (pausing->is_given_up) status = GGML_STATUS_ABORTED;
    }
    cancel_ = nullptr;
    progress_ = nullptr;
    if (status == GGML_STATUS_SUCCESS && progress) progress(1.0);
    switch (status) {
        case GGML_STATUS_SUCCESS: return ok_status();
        case GGML_STATUS_ABORTED: return {Code::Cancelled, "cancelled"};
        case GGML_STATUS_ALLOC_FAILED: return {Code::OutOfMemory, "no memory to run a graph"};
        case GGML_STATUS_FAILED: break;
    }
    return {Code::Internal, "ggml could not run a graph"};
}

std::size_t GraphRunner::buffer_bytes() const {
    std::size_t bytes = 0;
    for (ggml_backend_t backend : backends_) bytes += ggml_backend_sched_get_buffer_size(scheduler_, backend);
    return bytes;
}

}  // namespace clasp::model
