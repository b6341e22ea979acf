// Keys and values of a decoder, with a number of cells of its own for every layer: a layer stores what
// its block processed, plus room for the tokens to be generated, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "clasp/status.h"
#include "ggml-backend.h"
#include "model/text_model.h"

namespace clasp::engine {

struct KvLayer {
    ggml_tensor* keys = nullptr;  // [kv_width, capacity]
    ggml_tensor* values = nullptr;
    std::int64_t capacity = 0;  // cells
    std::int64_t used = 0;      // cells that hold something, from the front
};

class KvCache {
   public:
    // type is F16 or F32. The model must outlive the cache.
    KvCache(const model::TextModel& model, ggml_type type);
    ~KvCache();
    KvCache(KvCache&& other) noexcept;
    KvCache& operator=(KvCache&& other) noexcept;
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    // Frees everything.
    void clear();
    // Allocates layers first ... last - 1 with `capacity` empty cells each, where the weights of those
    // layers are. They must not be allocated yet.
    Status allocate(std::size_t first, std::size_t last, std::int64_t capacity);
    // Copies what layers first ... last - 1 of another cache of the same model and type hold. Here they must
    // be allocated with room for it.
    void copy_layers(const KvCache& from, std::size_t first, std::size_t last);
    // The first n cells of a layer, keys and values apart, as they are stored.
    void read_cells(std::size_t layer, std::int64_t n, std::vector<std::byte>& keys,
                    std::vector<std::byte>& values) const;
    // Puts such cells at the front of an allocated layer, which then uses as many as they are.
    void write_cells(std::size_t layer, std::span<const std::byte> keys, std::span<const std::byte> values);
    // Bytes of n cells of a layer, keys or values.
    [[nodiscard]] std::size_t cell_bytes(std::size_t n) const;
    // Gives layers first ... last - 1, which were allocated together, another number of cells, at least as
    // many as they use. After an error nothing has changed.
    Status resize(std::size_t first, std::size_t last, std::int64_t capacity);

    [[nodiscard]] KvLayer& layer(std::size_t i) { return layers_[i]; }
    [[nodiscard]] const KvLayer& layer(std::size_t i) const { return layers_[i]; }
    [[nodiscard]] ggml_type type() const { return type_; }
    // Sum over the allocated buffers.
    [[nodiscard]] std::size_t bytes() const;

   private:
    struct Part;

    Status allocate_on(ggml_backend_buffer_type_t buffer_type, const std::vector<std::size_t>& layers,
                       std::int64_t capacity);

    const model::TextModel* model_;
    ggml_type type_;
    std::vector<KvLayer> layers_;
    std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace clasp::engine
