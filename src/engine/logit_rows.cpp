#include "engine/logit_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ggml-backend.h"

namespace clasp::engine {

Status read_logits(const ggml_tensor* tensor, std::vector<float>& values) {
    values.resize(static_cast<std::size_t>(ggml_nelements(tensor)));
    ggml_backend_tensor_get(tensor, values.data(), 0, ggml_nbytes(tensor));
    const auto bad = std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
    if (bad == values.end()) return ok_status();
    const auto place = static_cast<std::int64_t>(bad - values.begin());
    const std::int64_t vocabulary = tensor->ne[0];
    std::string whose;
    if (tensor->ne[1] > 1) whose = " in sequence " + std::to_string(place / vocabulary) + " of the step";
    return {Code::Corrupt, "the model's logit of token " + std::to_string(place % vocabulary) + whose +
                               " is not a number; its weights may be damaged"};
}

}  // namespace clasp::engine
