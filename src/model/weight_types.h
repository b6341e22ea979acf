// Which of ggml's types a weight may have, by what is done with it. ggml computes with whatever a file says:
// where it has no kernel for a type, it aborts or calls a null pointer. So files are checked against this
// list before ggml or libllama see them.
#pragma once

#include <cstdint>
#include <string_view>

#include "clasp/status.h"
#include "ggml.h"

namespace clasp::model {

enum class WeightRole : std::uint8_t {
    Matrix,  // left operand of a product, or a table whose rows are read
    Values,  // norms, biases and rotation factors, which are added or multiplied as they are
};

bool can_be_weight(ggml_type type, WeightRole role);

// Unsupported, with the tensor's name and type and what could stand there instead.
Status check_weight_type(std::string_view tensor, ggml_type type, WeightRole role);

}  // namespace clasp::model
