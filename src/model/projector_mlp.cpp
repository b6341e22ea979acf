#include "model/projector_mlp.h"

#include <string>

namespace clasp::model {

namespace {

constexpr std::int64_t kMaxProjectorWidth = 1 << 17;

// The number of rows of a matrix whose row width is known.
Result<std::size_t> rows_of(const GgufReader& reader, const std::string& name, std::size_t width) {
    const GgufTensor* tensor = reader.find_tensor(name);
    if (tensor == nullptr) return Status(Code::Corrupt, "tensor " + name + " is missing");
    if (tensor->shape[0] != static_cast<std::int64_t>(width)) {
        return Status(Code::Corrupt, "tensor " + name + " takes " + std::to_string(tensor->shape[0]) +
                                         " inputs; " + std::to_string(width) + " are needed");
    }
    if (tensor->shape[1] > kMaxProjectorWidth) {
        return Status(Code::Corrupt, "tensor " + name + " has " + std::to_string(tensor->shape[1]) +
                                         " rows; the limit is " + std::to_string(kMaxProjectorWidth));
    }
    return static_cast<std::size_t>(tensor->shape[1]);
}

WeightSpec matrix(std::string name, std::size_t width, std::size_t rows) {
    return {.name = name,
            .parts = {name},
            .part_shape = {static_cast<std::int64_t>(width), static_cast<std::int64_t>(rows)},
            .use = WeightSpec::Use::Matrix,
            .width = static_cast<std::int64_t>(width)};
}

WeightSpec bias(std::string name, std::size_t width) {
    return {.name = name,
            .parts = {name},
            .part_shape = {static_cast<std::int64_t>(width)},
            .use = WeightSpec::Use::Values,
            .width = static_cast<std::int64_t>(width)};
}

}  // namespace

Result<MlpProjector> MlpProjector::open(const GgufReader& reader, std::size_t input_width,
                                        const MlpNames& names) {
    if (reader.find_tensor("mm.3.weight") != nullptr) {
        return Status(Code::Unsupported,
                      "projectors with norms between their matrices (mm.3.weight) are not supported");
    }
    MlpProjector projector;
    projector.names_ = names;
    projector.input_width_ = input_width;
    CLASP_ASSIGN_OR_RETURN(projector.hidden_width_,
                           rows_of(reader, std::string(names.first) + ".weight", input_width));
    CLASP_ASSIGN_OR_RETURN(projector.output_width_,
                           rows_of(reader, std::string(names.second) + ".weight", projector.hidden_width_));
    return projector;
}

void MlpProjector::add_specs(std::vector<WeightSpec>& specs) const {
    const std::string first = names_.first;
    const std::string second = names_.second;
    specs.push_back(matrix(first + ".weight", input_width_, hidden_width_));
    specs.push_back(bias(first + ".bias", hidden_width_));
    specs.push_back(matrix(second + ".weight", hidden_width_, output_width_));
    specs.push_back(bias(second + ".bias", output_width_));
}

void MlpProjector::bind(const WeightStore& store) {
    const std::string first = names_.first;
    const std::string second = names_.second;
    first_ = store.linear(first + ".weight", first + ".bias");
    second_ = store.linear(second + ".weight", second + ".bias");
}

ggml_tensor* MlpProjector::build(ggml_context* context, ggml_tensor* input, Compat compat) const {
    const LinearActivation gelu =
        compat == Compat::Original ? LinearActivation::Gelu : LinearActivation::TanhGelu;
    return build_linear(context, second_, build_linear(context, first_, input, gelu));
}

}  // namespace clasp::model
