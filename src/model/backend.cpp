#include "model/backend.h"

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>

#include "llama.h"

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

struct GgmlLog {
    std::mutex mutex;
    LogSink sink;
    bool is_set = false;
};

GgmlLog& ggml_log() {
    static GgmlLog log;
    return log;
}

void forward_log(ggml_log_level level, const char* text, void* /*user*/) {
    GgmlLog& target = ggml_log();
    LogSink sink;
    {
        const std::lock_guard lock(target.mutex);
        sink = target.sink;
    }
    if (!sink || text == nullptr) return;
    std::string_view line(text);
    while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    if (line.empty()) return;
    switch (level) {
        case GGML_LOG_LEVEL_ERROR: sink(LogLevel::Error, line); break;
        case GGML_LOG_LEVEL_WARN: sink(LogLevel::Warning, line); break;
        case GGML_LOG_LEVEL_INFO: sink(LogLevel::Info, line); break;
        default: sink(LogLevel::Debug, line); break;
    }
}

void silence_ggml_once() {
    GgmlLog& log = ggml_log();
    {
        const std::lock_guard lock(log.mutex);
        if (log.is_set) return;
        log.is_set = true;
    }
    llama_log_set(forward_log, nullptr);  // sets that of ggml too
}

// ggml keeps the device list in a process-wide registry; modules are looked for once.
void load_backends_once() {
    static const bool loaded = [] {
        ggml_backend_load_all();
        return true;
    }();
    static_cast<void>(loaded);
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

}  // namespace

void set_ggml_log(LogSink sink) {
    GgmlLog& log = ggml_log();
    {
        const std::lock_guard lock(log.mutex);
        log.sink = std::move(sink);
        log.is_set = true;
    }
    llama_log_set(forward_log, nullptr);  // sets that of ggml too
}

Result<std::shared_ptr<Compute>> Compute::create(const ComputeOptions& options) {
    silence_ggml_once();
    load_backends_once();
    const std::shared_ptr<Compute> compute(new Compute());
    compute->cpu_ = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (compute->cpu_ == nullptr) return Status(Code::Unavailable, "ggml offers no CPU backend");
    if (options.use_gpu) {
        compute->gpu_ = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU);
        if (compute->gpu_ == nullptr) compute->gpu_ = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
    }

    compute->n_threads_ = options.n_threads != 0
                              ? options.n_threads
                              : std::max<std::size_t>(1, std::thread::hardware_concurrency());
    if (compute->n_threads_ > GGML_MAX_N_THREADS) {
        return Status(Code::InvalidArgument, std::to_string(compute->n_threads_) +
                                                 " threads are too many; the limit is " +
                                                 std::to_string(GGML_MAX_N_THREADS));
    }
    const auto new_threadpool = cpu_function<NewThreadpool>(compute->cpu_, "ggml_threadpool_new");
    if (new_threadpool != nullptr) {
        ggml_threadpool_params params = ggml_threadpool_params_default(static_cast<int>(compute->n_threads_));
        compute->threadpool_ = new_threadpool(&params);
    }

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

    const auto set_threads =
        cpu_function<ggml_backend_set_n_threads_t>(shared.cpu_, "ggml_backend_set_n_threads");
    if (set_threads != nullptr) set_threads(cpu, static_cast<int>(shared.n_threads_));
    const auto set_threadpool = cpu_function<SetThreadpool>(shared.cpu_, "ggml_backend_cpu_set_threadpool");
    if (set_threadpool != nullptr && shared.threadpool_ != nullptr) set_threadpool(cpu, shared.threadpool_);
    const auto set_abort =
        cpu_function<ggml_backend_set_abort_callback_t>(shared.cpu_, "ggml_backend_set_abort_callback");
    if (set_abort != nullptr) {
        const auto is_cancelled = [](void* user) {
            const auto* cancel = static_cast<const GraphRunner*>(user)->cancel_;
            return cancel != nullptr && cancel->load(std::memory_order_relaxed);
        };
        set_abort(cpu, is_cancelled, runner.get());
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

Status GraphRunner::compute(ggml_cgraph* graph, const std::atomic<bool>* cancel) {
    const std::lock_guard turn(compute_->turn_);
    cancel_ = cancel;
    const ggml_status status = ggml_backend_sched_graph_compute(scheduler_, graph);
    cancel_ = nullptr;
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
