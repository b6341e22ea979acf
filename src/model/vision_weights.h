// The tensors of a vision tower in memory: checked against what the family needs, converted to the wanted
// format in parallel, placed in buffers of the device that will use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "clasp/log.h"
#include "clasp/status.h"
#include "clasp/thread_pool.h"
#include "model/backend.h"
#include "model/gguf_reader.h"
#include "model/linear.h"
#include "model/load_watch.h"
#include "model/packed_matrix.h"
#include "model/quant_matrix.h"
#include "model/vision_types.h"

namespace clasp::model {

// One tensor that a graph uses, and where it comes from.
struct WeightSpec {
    enum class Use : std::uint8_t {
        Matrix,  // left operand of a product; converted to the wanted format
        Values,  // biases, norms, tables: float32
    };
    std::string name = {};                      // by which the graph asks for it
    std::vector<std::string> parts = {};        // tensors of the file, stacked along the rows
    std::vector<std::int64_t> part_shape = {};  // each part's shape in the file
    Use use = Use::Values;
    std::int64_t width = 0;                        // elements of a row; the part's elements are whole rows
    std::int64_t padded_width = 0;                 // rows are lengthened with zeros to this; 0: not
    std::int64_t padded_rows = 0;                  // each part gets rows of zeros up to this; 0: none
    std::optional<ggml_type> type = std::nullopt;  // of a matrix, whatever format is wanted
};

// Finds the parts and checks type and shape; the message names the tensor and both shapes.
Status check_spec(const GgufReader& reader, const WeightSpec& spec);

class WeightStore {
   public:
    // Copies or converts everything that the specs name; the reader's bytes are not needed afterwards. watch
    // may be null.
    static Result<std::unique_ptr<WeightStore>> load(const GgufReader& reader,
                                                     const std::vector<WeightSpec>& specs,
                                                     VisionWeights format, const Compute& compute,
                                                     ThreadPool* pool, const LogSink& log,
                                                     const LoadWatch* watch = nullptr);
    ~WeightStore();
    WeightStore(const WeightStore&) = delete;
    WeightStore& operator=(const WeightStore&) = delete;

    [[nodiscard]] bool has(const std::string& name) const {
        return tensors_.contains(name) || packed_.contains(name) || quant_.contains(name);
    }
    // A name that no spec has, or that is a matrix kept as integers, is a bug.
    [[nodiscard]] ggml_tensor* get(std::string_view name) const;
    // A matrix in whatever form it is kept, with its bias.
    [[nodiscard]] Linear linear(const std::string& weight, const std::string& bias) const;
    [[nodiscard]] Linear linear(const std::string& weight) const;
    // How matrices are kept; never Auto.
    [[nodiscard]] VisionWeights format() const { return format_; }

   private:
    WeightStore() = default;

    VisionWeights format_ = VisionWeights::File;
    std::vector<ggml_context*> contexts_;
    std::vector<ggml_backend_buffer_t> buffers_;
    std::unordered_map<std::string, ggml_tensor*> tensors_;
    std::unordered_map<std::string, std::unique_ptr<PackedMatrix>> packed_;
    std::unordered_map<std::string, std::unique_ptr<QuantMatrix>> quant_;
};

}  // namespace clasp::model
