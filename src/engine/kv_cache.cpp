#include "engine/kv_cache.h"

#include <map>
#include <string>

#include "base/check.h"
#include "ggml-alloc.h"

namespace clasp::engine {
namespace {

// Copies the first cells of a tensor to another of the same width and type.
void copy_cells(const ggml_tensor* from, ggml_tensor* to, std::int64_t n) {
    const std::size_t bytes = static_cast<std::size_t>(n) * from->nb[1];
    if (bytes == 0) return;
    if (ggml_backend_buffer_is_host(from->buffer)) {
        ggml_backend_tensor_set(to, from->data, 0, bytes);
        return;
    }
    std::vector<std::byte> staging(bytes);
    ggml_backend_tensor_get(from, staging.data(), 0, bytes);
    ggml_backend_tensor_set(to, staging.data(), 0, bytes);
}

// Plain memory of the device that runs a block, found through one of its weights: those may be in a
// layout of their own that only weights can have.
ggml_backend_buffer_type_t plain_type_of(const ggml_tensor* weight, const model::Compute& compute) {
    ggml_backend_buffer_type* const type = ggml_backend_buffer_get_type(weight->buffer);
    ggml_backend_device* const device = ggml_backend_buft_get_device(type);
    if (device == nullptr || ggml_backend_buft_is_host(type))
        return ggml_backend_dev_buffer_type(compute.cpu());
    return ggml_backend_dev_buffer_type(device);
}

}  // namespace

struct KvCache::Part {
    ggml_context* context = nullptr;
    ggml_backend_buffer_t buffer = nullptr;
    std::size_t first_layer = 0;

    Part() = default;
    ~Part() {
        if (buffer != nullptr) ggml_backend_buffer_free(buffer);
        if (context != nullptr) ggml_free(context);
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
};

KvCache::KvCache(const model::TextModel& model, ggml_type type)
    : model_(&model), type_(type), layers_(model.weights().blocks.size()) {}

KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&& other) noexcept = default;
KvCache& KvCache::operator=(KvCache&& other) noexcept = default;

void KvCache::clear() {
    parts_.clear();
    layers_.assign(layers_.size(), KvLayer{});
}

Status KvCache::allocate(std::size_t first, std::size_t last, std::int64_t capacity) {
    std::map<ggml_backend_buffer_type_t, std::vector<std::size_t>> by_type;
    for (std::size_t i = first; i < last; ++i) {
        CLASP_CHECK(layers_[i].capacity == 0);
        const ggml_tensor* weight = model_->weights().blocks[i].attention_out;
        by_type[plain_type_of(weight, *model_->compute())].push_back(i);
    }
    for (const auto& [type, layers] : by_type) CLASP_RETURN_IF_ERROR(allocate_on(type, layers, capacity));
    return ok_status();
}

Status KvCache::allocate_on(ggml_backend_buffer_type_t buffer_type, const std::vector<std::size_t>& layers,
                            std::int64_t capacity) {
    auto part = std::make_unique<Part>();
    part->first_layer = layers.front();
    part->context = ggml_init(
        {.mem_size = ggml_tensor_overhead() * 2 * layers.size(), .mem_buffer = nullptr, .no_alloc = true});
    if (part->context == nullptr) return {Code::OutOfMemory, "no memory for the description of the KV cache"};
    const std::int64_t width = model_->config().kv_width();
    for (const std::size_t i : layers) {
        layers_[i].keys = ggml_new_tensor_2d(part->context, type_, width, capacity);
        layers_[i].values = ggml_new_tensor_2d(part->context, type_, width, capacity);
        layers_[i].capacity = capacity;
    }
    part->buffer = ggml_backend_alloc_ctx_tensors_from_buft(part->context, buffer_type);
    if (part->buffer == nullptr) {
        for (const std::size_t i : layers) layers_[i] = KvLayer{};
        return {Code::OutOfMemory, "no memory for the keys and values of " + std::to_string(layers.size()) +
                                       " layers with " + std::to_string(capacity) + " cells"};
    }
    parts_.push_back(std::move(part));
    return ok_status();
}

void KvCache::copy_layers(const KvCache& from, std::size_t first, std::size_t last) {
    CLASP_CHECK(type_ == from.type_ && layers_.size() == from.layers_.size());
    for (std::size_t i = first; i < last; ++i) {
        const KvLayer& source = from.layers_[i];
        CLASP_CHECK(source.used <= layers_[i].capacity);
        copy_cells(source.keys, layers_[i].keys, source.used);
        copy_cells(source.values, layers_[i].values, source.used);
        layers_[i].used = source.used;
    }
}

std::size_t KvCache::cell_bytes(std::size_t n) const {
    return n * ggml_row_size(type_, model_->config().kv_width());
}

void KvCache::read_cells(std::size_t layer, std::int64_t n, std::vector<std::byte>& keys,
                         std::vector<std::byte>& values) const {
    const KvLayer& from = layers_[layer];
    CLASP_CHECK(n <= from.used);
    const auto read = [n](const ggml_tensor* tensor, std::vector<std::byte>& bytes) {
        bytes.resize(static_cast<std::size_t>(n) * tensor->nb[1]);
        ggml_backend_tensor_get(tensor, bytes.data(), 0, bytes.size());
    };
    read(from.keys, keys);
    read(from.values, values);
}

void KvCache::write_cells(std::size_t layer, std::span<const std::byte> keys,
                          std::span<const std::byte> values) {
    KvLayer& to = layers_[layer];
    const std::size_t n = keys.size() / to.keys->nb[1];
    CLASP_CHECK(keys.size() == values.size() && keys.size() == n * to.keys->nb[1]);
    CLASP_CHECK(static_cast<std::int64_t>(n) <= to.capacity);
    ggml_backend_tensor_set(to.keys, keys.data(), 0, keys.size());
    ggml_backend_tensor_set(to.values, values.data(), 0, values.size());
    to.used = static_cast<std::int64_t>(n);
}

Status KvCache::resize(std::size_t first, std::size_t last, std::int64_t capacity) {
    KvCache other(*model_, type_);
    CLASP_RETURN_IF_ERROR(other.allocate(first, last, capacity));
    other.copy_layers(*this, first, last);
    std::erase_if(parts_,
                  [&](const auto& part) { return part->first_layer >= first && part->first_layer < last; });
    for (std::size_t i = first; i < last; ++i) layers_[i] = other.layers_[i];
    for (auto& part : other.parts_) parts_.push_back(std::move(part));
    return ok_status();
}

std::size_t KvCache::bytes() const {
    std::size_t total = 0;
    for (const auto& part : parts_) total += ggml_backend_buffer_get_size(part->buffer);
    return total;
}

}  // namespace clasp::engine
