#include "model/text_model_repack.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
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

std::size_t packed_bytes(const ggml_tensor* matrix) {
    return QuantMatrix::bytes(*find_quant_format(matrix->type), static_cast<std::size_t>(matrix->ne[0]),
                              static_cast<std::size_t>(matrix->ne[1]));
}

bool is_plain(const ggml_tensor& matrix) {
    return matrix.buffer != nullptr && ggml_backend_buffer_is_host(matrix.buffer);
}

std::span<const std::byte> bytes_of(const ggml_tensor* tensor, std::size_t begin, std::size_t end) {
    return {static_cast<const std::byte*>(tensor->data) + begin, end - begin};
}

// One thread's share of the work.
struct Copy {
    const ggml_tensor* from;
    ggml_tensor** place = nullptr;  // of ggml's copy, the whole matrix
    ggml_tensor* to = nullptr;
    QuantMatrix* matrix = nullptr;  // or panels of ours
    std::size_t begin = 0;
    std::size_t end = 0;

    // What is read of the file, and need not stay in memory once it is copied.
    [[nodiscard]] std::span<const std::byte> source() const {
        if (matrix == nullptr) return bytes_of(from, 0, ggml_nbytes(from));
        const std::size_t n_rows = std::min(end * kQuantPanel, matrix->n_outputs());
        return bytes_of(from, begin * kQuantPanel * from->nb[1], n_rows * from->nb[1]);
    }
    void run() const {
        base::fetch_pages(source());
        if (matrix != nullptr) {
            matrix->pack(from->data, begin, end);
        } else {
            ggml_backend_tensor_set(to, from->data, 0, ggml_nbytes(from));
        }
        base::release_pages(source());
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
    std::optional<PackedFile> file;  // of matrices that were packed before
    std::vector<std::unique_ptr<QuantMatrix>> matrices;
    std::vector<ggml_context*> contexts;
    std::vector<ggml_backend_buffer_t> buffers;
    PackedStore store;  // ends first: it may still be writing the matrices

    explicit State(const RepackOptions& options) : store(options.folder, options.key, options.log) {}
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

    // Ours: those of the file, if it is there, else room for copies.
    Status add_ours(const std::vector<const ggml_tensor*>& ours, const RepackOptions& options,
                    ThreadPool& pool, std::vector<Copy>& copies) {
        PackedSizes sizes;
        for (const ggml_tensor* matrix : ours) sizes.push_back(packed_bytes(matrix));
        CLASP_ASSIGN_OR_RETURN(file, store.find(sizes, pool, options.watch));
        const std::vector<std::size_t> offsets = packed_offsets(sizes);
        for (std::size_t i = 0; i < ours.size(); ++i) {
            const QuantFormat& format = *find_quant_format(ours[i]->type);
            const auto n_inputs = static_cast<std::size_t>(ours[i]->ne[0]);
            const auto n_outputs = static_cast<std::size_t>(ours[i]->ne[1]);
            matrices.push_back(file ? QuantMatrix::view(format, n_inputs, n_outputs,
                                                        file->data().subspan(offsets[i], sizes[i]))
                                    : QuantMatrix::create(format, n_inputs, n_outputs));
            QuantMatrix* const packed = matrices.back().get();
            if (packed == nullptr) return {Code::OutOfMemory, "no memory for the repacked weights"};
            if (file) continue;
            for (std::size_t begin = 0; begin < packed->n_panels(); begin += kPanelsAtOnce) {
                copies.push_back({.from = ours[i],
                                  .matrix = packed,
                                  .begin = begin,
                                  .end = std::min(begin + kPanelsAtOnce, packed->n_panels())});
            }
        }
        return ok_status();
    }

    void keep() {
        std::vector<std::span<const std::byte>> kept;
        for (const auto& matrix : matrices) kept.push_back(matrix->packed());
        if (!file) store.keep(std::move(kept));
    }
};

RepackedWeights::RepackedWeights(std::unique_ptr<State> state) : state_(std::move(state)) {}

RepackedWeights::~RepackedWeights() = default;

Result<std::unique_ptr<RepackedWeights>> RepackedWeights::create(const Compute& compute, TextWeights& weights,
                                                                 const RepackOptions& options,
                                                                 ThreadPool& pool) {
    auto state = std::make_unique<State>(options);
    std::vector<Copy> copies;
    std::vector<const ggml_tensor*> ours;
    std::map<ggml_backend_buffer_type_t, std::vector<ggml_tensor**>> by_layout;
    for (ggml_tensor** matrix : matrices(weights)) {
        if (!is_plain(**matrix)) continue;
        if (format_for((*matrix)->type, options.kernels) != nullptr) {
            ours.push_back(*matrix);
            continue;
        }
        ggml_backend_buffer_type_t layout =
            layout_for(compute, (*matrix)->type, (*matrix)->ne[0], (*matrix)->ne[1]);
        if (layout != nullptr) by_layout[layout].push_back(matrix);
    }
    CLASP_RETURN_IF_ERROR(state->add_ours(ours, options, pool, copies));
    for (const auto& [layout, places] : by_layout) {
        CLASP_RETURN_IF_ERROR(state->add_copies(layout, places, copies));
    }

    std::size_t all_bytes = 0;
    for (const Copy& copy : copies) all_bytes += copy.source().size();
    LoadCount count(options.watch, 0.0, 1.0, all_bytes);
    pool.run(copies.size(), [&](std::size_t i) {
        if (count.is_cancelled()) return;
        copies[i].run();
        count.add(copies[i].source().size());
    });
    if (count.is_cancelled()) return Status(Code::Cancelled, "cancelled");
    for (std::size_t i = 0; i < ours.size(); ++i) weights.packed[ours[i]] = state->matrices[i].get();
    for (const Copy& copy : copies) {
        if (copy.place != nullptr) *copy.place = copy.to;
    }
    state->keep();
    return std::unique_ptr<RepackedWeights>(new RepackedWeights(std::move(state)));
}

std::size_t RepackedWeights::bytes() const {
    std::size_t total = 0;
    for (ggml_backend_buffer_t buffer : state_->buffers) total += ggml_backend_buffer_get_size(buffer);
    for (const auto& matrix : state_->matrices) total += matrix->packed().size();
    return total;
}

bool RepackedWeights::is_mapped() const {
    return state_->file.has_value();
}

Status RepackedWeights::wait_until_kept(const LoadWatch& watch) {
    return state_->store.wait(watch);
}

}  // namespace clasp::model
