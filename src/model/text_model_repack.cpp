#include "model/text_model_repack.h"

#include <map>
#include <utility>
#include <vector>

#include "ggml-alloc.h"
#include "model/text_model.h"

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

// Null when there is no layout for it.
ggml_backend_buffer_type_t layout_for(const Compute& compute, const ggml_tensor& matrix) {
    if (matrix.buffer == nullptr || !ggml_backend_buffer_is_host(matrix.buffer)) return nullptr;
    for (ggml_backend_buffer_type_t type : compute.cpu_extra_buffer_types()) {
        if (takes_product(compute.cpu(), type, matrix.type, matrix.ne[0], matrix.ne[1])) return type;
    }
    return nullptr;
}

struct Copy {
    ggml_tensor** place;
    ggml_tensor* from;
    ggml_tensor* to;
};

}  // namespace

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
                                                                 ThreadPool& pool) {
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
    pool.run(copies.size(), [&](std::size_t i) {
        ggml_backend_tensor_set(copies[i].to, copies[i].from->data, 0, ggml_nbytes(copies[i].from));
    });
    for (const Copy& copy : copies) *copy.place = copy.to;
    return std::unique_ptr<RepackedWeights>(new RepackedWeights(std::move(state)));
}

std::size_t RepackedWeights::bytes() const {
    std::size_t total = 0;
    for (ggml_backend_buffer_t buffer : state_->buffers) total += ggml_backend_buffer_get_size(buffer);
    return total;
}

}  // namespace clasp::model
