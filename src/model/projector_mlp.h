// The projector of LLaVA and relatives: two matrices with a GELU between them.
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

// What its matrices are called, without ".weight" and ".bias".
struct MlpNames {
    const char* first = nullptr;
    const char* second = nullptr;
};
inline constexpr MlpNames kLlavaProjector = {"mm.0", "mm.2"};
inline constexpr MlpNames kInternvlProjector = {"mm.model.mlp.1", "mm.model.mlp.3"};

class MlpProjector {
   public:
    // Widths come from the tensors: the key projection_dim of LLaVA files is CLIP's own, not the
    // projector's. input_width is what it is given.
    static Result<MlpProjector> open(const GgufReader& reader, std::size_t input_width,
                                     const MlpNames& names);

    [[nodiscard]] std::size_t hidden_width() const { return hidden_width_; }
    [[nodiscard]] std::size_t output_width() const { return output_width_; }
    void add_specs(std::vector<WeightSpec>& specs) const;
    void bind(const WeightStore& store);
    // input: [input_width, n]; returns [output_width, n].
    ggml_tensor* build(ggml_context* context, ggml_tensor* input, Compat compat) const;

   private:
    MlpNames names_;
    std::size_t input_width_ = 0;
    std::size_t hidden_width_ = 0;
    std::size_t output_width_ = 0;
    Linear first_;
    Linear second_;
};

}  // namespace clasp::model
