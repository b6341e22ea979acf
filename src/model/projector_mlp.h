// LLaVA's projector: two matrices with a GELU between them.
#pragma once

#include <cstddef>
#include <vector>

#include "clasp/status.h"
#include "ggml.h"
#include "model/gguf_reader.h"
#include "model/linear.h"
#include "model/vision_types.h"
#include "model/vision_weights.h"

namespace clasp::model {

class MlpProjector {
   public:
    // Widths come from the tensors: the key projection_dim of LLaVA files is CLIP's own, not the
    // projector's. input_width is the tower's.
    static Result<MlpProjector> open(const GgufReader& reader, std::size_t input_width);

    [[nodiscard]] std::size_t hidden_width() const { return hidden_width_; }
    [[nodiscard]] std::size_t output_width() const { return output_width_; }
    void add_specs(std::vector<WeightSpec>& specs) const;
    void bind(const WeightStore& store);
    // input: [input_width, n]; returns [output_width, n].
    ggml_tensor* build(ggml_context* context, ggml_tensor* input, Compat compat) const;

   private:
    std::size_t input_width_ = 0;
    std::size_t hidden_width_ = 0;
    std::size_t output_width_ = 0;
    Linear first_;
    Linear second_;
};

}  // namespace clasp::model
