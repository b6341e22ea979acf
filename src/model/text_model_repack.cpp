#include "model/text_model_repack.h"

#include <map>
#include <utility>
#include <vector>

#include "ggml-alloc.h"
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

// Null when there is none.
ggml_backend_buffer_type_t layout_for(const Compute& compute, ggml_type type, std::int64_t width,
                                      std::int64_t rows) {
    for (ggml_backend_buffer_type_t layout : compute.cpu_extra_buffer_types()) {
        if (takes_product(compute.cpu(), layout, type, width, rows)) return layout;
    }
    return nullptr;
}

ggml_backend_buffer_type_t layout_for(const Compute& compute, const ggml_tensor& matrix) {
    if (matrix.buffer == nullptr || !ggml_backend_buffer_is_host(matrix.buffer)) return nullptr;
    return layout_for(compute, matrix.type, matrix.ne[0], matrix.ne[1]);
}

struct Copy {
    ggml_tensor** place;
    ggml_tensor* from;
    ggml_tensor* to;
};

}  // namespace

std::size_t repacked_bytes(const Compute& compute, const GgufReader& file) {
    if (compute.has_gpu()) return 0;
    const bool is_tied = file.find_tensor("output.weight") == nullptr;
    std::size_t bytes = 0;
    for (const GgufTensor& tensor : file.tensors()) {
        const bool is_only_read = tensor.name == "token_embd.weight" && !is_tied;
        if (tensor.shape[1] == 1 || is_only_read || !can_be_weight(tensor.type, WeightRole::Matrix)) continue;
        if (layout_for(compute, tensor.type, tensor.shape[0], tensor.shape[1]) != nullptr) {
            bytes += tensor.data.size();
        }
    }
    return bytes;
}

struct RepackedWeights::State {
    std::vector<ggml_context*> contexts;
    std::vector<ggml_backend_buffer_t> buffers;

    State() = default;
    ~State() {
        for (ggml_backend_buffer_t buffer : buffers) ggml_backend_buffer_free(buffer);
        for (ggml_context* context : contexts) ggml_free(context);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

RepackedWeights::RepackedWeights(std::unique_ptr<State> state) : state_(std::move(state)) {}

RepackedWeights::~RepackedWeights() = default;

Result<std::unique_ptr<RepackedWeights>> RepackedWeights::create(const Compute& compute, TextWeights& weights,
                                                                 ThreadPool& pool, const LoadWatch* watch) {
    std::map<ggml_backend_buffer_type_t, std::vector<ggml_tensor**>> by_layout;
    for (ggml_tensor** matrix : matrices(weights)) {
        ggml_backend_buffer_type_t layout = layout_for(compute, **matrix);
        if (layout != nullptr) by_layout[layout].push_back(matrix);
    }

    auto state = std::make_unique<State>();
    std::vector<Copy> copies;
    for (const auto& [layout, places] : by_layout) {
        ggml_context* context = ggml_init(
            {.mem_size = ggml_tensor_overhead() * places.size(), .mem_buffer = nullptr, .no_alloc = true});
        if (context == nullptr) return Status(Code::OutOfMemory, "no memory to describe the weights");
        state->contexts.push_back(context);
        for (ggml_tensor** place : places) {
            ggml_tensor* copy = ggml_dup_tensor(context, *place);
            ggml_set_name(copy, (*place)->name);
            copies.push_back({place, *place, copy});
        }
        ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(context, layout);
        if (buffer == nullptr) return Status(Code::OutOfMemory, "no memory for the repacked weights");
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        state->buffers.push_back(buffer);
    }
    // A layout is made from the whole tensor at once, so tensors are what threads share.
    std::size_t all_bytes = 0;
    for (const Copy& copy : copies) all_bytes += ggml_nbytes(copy.from);
    LoadCount count(watch, kRepackBegins, 1.0, all_bytes);
    pool.run(copies.size(), [&](std::size_t i) {
        if (count.is_cancelled()) return;
        ggml_backend_tensor_set(copies[i].to, copies[i].from->data, 0, ggml_nbytes(copies[i].from));
        count.add(ggml_nbytes(copies[i].from));
    });
    if (count.is_cancelled()) return Status(Code::Cancelled, "cancelled");
    for (const Copy& copy : copies) *copy.place = copy.to;
    return std::unique_ptr<RepackedWeights>(new RepackedWeights(std::move(state)));
}

std::size_t RepackedWeights::bytes() const {
    std::size_t total = 0;
    for (ggml_backend_buffer_t buffer : state_->buffers) total += ggml_backend_buffer_get_size(buffer);
    return total;
}

}  // namespace clasp::model
