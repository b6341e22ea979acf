#include "model/text_model_repack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ggml-alloc.h"
#include "model/quant_matrix.h"
#include "model/text_model.h"
#include "model/weight_types.h"

namespace clasp::model {
namespace {

std::vector<ggml_tensor**> matrices(TextWeights& weights) {
    std::vector<ggml_tensor**> result;
    for (BlockWeights& block : weights.blocks) {
        for (ggml_tensor** matrix : {&block.qkv, &block.q, &block.k, &block.v, &block.attention_out,
                                     &block.gate, &block.up, &block.down}) {
            if (*matrix != nullptr) result.push_back(matrix);
        }
    }
    result.push_back(&weights.head);
    return result;
}

// Ours; null when there is none.
const QuantFormat* format_for(ggml_type type, DecoderKernels kernels) {
    return kernels == DecoderKernels::Ours && QuantMatrix::is_fast() ? find_quant_format(type) : nullptr;
}

// That of ggml; null when there is none.
ggml_backend_buffer_type_t layout_for(const Compute& compute, ggml_type type, std::int64_t width,
                                      std::int64_t rows) {
    for (ggml_backend_buffer_type_t layout : compute.cpu_extra_buffer_types()) {
        if (takes_product(compute.cpu(), layout, type, width, rows)) return layout;
    }
    return nullptr;
}

bool is_plain(const ggml_tensor& matrix) {
    return matrix.buffer != nullptr && ggml_backend_buffer_is_host(matrix.buffer);
}

// Pages of the file that were copied need not stay in memory; whoever reads them again gets them from the
// file. Only for a mapped file: other memory would lose what it holds.
void let_go(const ggml_tensor* tensor, std::size_t begin, std::size_t end) {
    if (std::string_view(ggml_backend_buffer_name(tensor->buffer)) != "CPU_Mapped") return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto* const data = static_cast<char*>(tensor->data);
    const auto base = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t first = (base + begin + page - 1) / page * page;
    const std::uintptr_t last = (base + end) / page * page;
    if (first < last) ::madvise(data + (first - base), last - first, MADV_DONTNEED);
}

// One thread's share of the work.
struct Copy {
    const ggml_tensor* from;
    ggml_tensor** place = nullptr;  // of ggml's copy, the whole matrix
    ggml_tensor* to = nullptr;
    QuantMatrix* matrix = nullptr;  // or panels of ours
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] std::size_t bytes() const {
        if (matrix == nullptr) return ggml_nbytes(from);
        return (end - begin) * kQuantPanel * from->nb[1];
    }
    void run() const {
        if (matrix != nullptr) {
            matrix->pack(from->data, begin, end);
            const std::size_t n_rows = std::min(end * kQuantPanel, matrix->n_outputs());
            let_go(from, begin * kQuantPanel * from->nb[1], n_rows * from->nb[1]);
        } else {
            ggml_backend_tensor_set(to, from->data, 0, ggml_nbytes(from));
        }
    }
};

// Panels of a matrix that are packed in one go: small enough that threads finish together.
constexpr std::size_t kPanelsAtOnce = 32;

}  // namespace

std::size_t repacked_bytes(const Compute& compute, const GgufReader& file, DecoderKernels kernels) {
    if (compute.has_gpu()) return 0;
    const bool is_tied = file.find_tensor("output.weight") == nullptr;
    std::size_t bytes = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        const bool is_only_read = tensor.name == "token_embd.weight" && !is_tied;
        if (tensor.shape[1] == 1 || is_only_read || !can_be_weight(tensor.type, WeightRole::Matrix)) continue;
        if (const QuantFormat* format = format_for(tensor.type, kernels); format != nullptr) {
            bytes += QuantMatrix::bytes(*format, static_cast<std::size_t>(tensor.shape[0]),
                                        static_cast<std::size_t>(tensor.shape[1]));
        } else if (layout_for(compute, tensor.type, tensor.shape[0], tensor.shape[1]) != nullptr) {
            bytes += tensor.data.size();
        }
    }
    return bytes;
}

struct RepackedWeights::State {
    std::vector<std::unique_ptr<QuantMatrix>> matrices;
    std::vector<ggml_context*> contexts;
    std::vector<ggml_backend_buffer_t> buffers;

    State() = default;
    ~State() {
        for (ggml_backend_buffer_t buffer : buffers) ggml_backend_buffer_free(buffer);
        for (ggml_context* context : contexts) ggml_free(context);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // Room for copies in a layout of ggml's.
    Status add_copies(ggml_backend_buffer_type_t layout, const std::vector<ggml_tensor**>& places,
                      std::vector<Copy>& copies) {
        ggml_context* context = ggml_init(
            {.mem_size = ggml_tensor_overhead() * places.size(), .mem_buffer = nullptr, .no_alloc = true});
        if (context == nullptr) return {Code::OutOfMemory, "no memory to describe the weights"};
        contexts.push_back(context);
        for (ggml_tensor** place : places) {
            ggml_tensor* copy = ggml_dup_tensor(context, *place);
            ggml_set_name(copy, (*place)->name);
            copies.push_back({.from = *place, .place = place, .to = copy});
        }
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(context, layout);
        if (buffer == nullptr) return {Code::OutOfMemory, "no memory for the repacked weights"};
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        buffers.push_back(buffer);
        return ok_status();
    }

    // Room for a copy in our own.
    Status add_copy(const QuantFormat& format, const ggml_tensor* matrix, std::vector<Copy>& copies) {
        auto packed = QuantMatrix::create(format, static_cast<std::size_t>(matrix->ne[0]),
                                          static_cast<std::size_t>(matrix->ne[1]));
        if (packed == nullptr) return {Code::OutOfMemory, "no memory for the repacked weights"};
        for (std::size_t begin = 0; begin < packed->n_panels(); begin += kPanelsAtOnce) {
            copies.push_back({.from = matrix,
                              .matrix = packed.get(),
                              .begin = begin,
                              .end = std::min(begin + kPanelsAtOnce, packed->n_panels())});
        }
        matrices.push_back(std::move(packed));
        return ok_status();
    }
};

RepackedWeights::RepackedWeights(std::unique_ptr<State> state) : state_(std::move(state)) {}

RepackedWeights::~RepackedWeights() = default;

Result<std::unique_ptr<RepackedWeights>> RepackedWeights::create(const Compute& compute, TextWeights& weights,
                                                                 DecoderKernels kernels, ThreadPool& pool,
                                                                 const LoadWatch* watch) {
    auto state = std::make_unique<State>();
    std::vector<Copy> copies;
    std::map<ggml_backend_buffer_type_t, std::vector<ggml_tensor**>> by_layout;
    for (ggml_tensor** matrix : matrices(weights)) {
        if (!is_plain(**matrix)) continue;
        if (const QuantFormat* format = format_for((*matrix)->type, kernels); format != nullptr) {
            CLASP_RETURN_IF_ERROR(state->add_copy(*format, *matrix, copies));
            continue;
        }
        ggml_backend_buffer_type_t layout =
            layout_for(compute, (*matrix)->type, (*matrix)->ne[0], (*matrix)->ne[1]);
        if (layout != nullptr) by_layout[layout].push_back(matrix);
    }
    for (const auto& [layout, places] : by_layout) {
        CLASP_RETURN_IF_ERROR(state->add_copies(layout, places, copies));
    }

    std::size_t all_bytes = 0;
    for (const Copy& copy : copies) all_bytes += copy.bytes();
    LoadCount count(watch, kRepackBegins, 1.0, all_bytes);
    pool.run(copies.size(), [&](std::size_t i) {
        if (count.is_cancelled()) return;
        copies[i].run();
        count.add(copies[i].bytes());
    });
    if (count.is_cancelled()) return Status(Code::Cancelled, "cancelled");
    for (const Copy& copy : copies) {
        if (copy.matrix != nullptr) weights.packed[copy.from] = copy.matrix;
        if (copy.place != nullptr) *copy.place = copy.to;
    }
    return std::unique_ptr<RepackedWeights>(new RepackedWeights(std::move(state)));
}

std::size_t RepackedWeights::bytes() const {
    std::size_t total = 0;
    for (ggml_backend_buffer_t buffer : state_->buffers) total += ggml_backend_buffer_get_size(buffer);
    for (const auto& matrix : state_->matrices) {
        total += QuantMatrix::bytes(matrix->format(), matrix->n_inputs(), matrix->n_outputs());
    }
    return total;
}

}  // namespace clasp::model
